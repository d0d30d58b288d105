"""The concepts that there are: every module here declares some, and `tasks/registry.py` finds them."""
