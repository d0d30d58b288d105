"""What the paper's sections share: what an experiment is, the roles, directions and their clouds, behaviour."""
