"""When is a stored result still valid? While the digest of everything that it depends on is unchanged:

- the code: all that the experiment uses (`numberline.runs.used_code`), the engine always, since it is given a lab;
- the model: its fingerprint and its dtype;
- the question: the concept with the file that declares it, the sample sizes and the seed: they decide every population;
- the needs: the digests of the results that it reads.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numberline.experiments.common import experiment as base
from numberline.experiments.common.experiment import Experiment
from numberline.runs.used_code import sha, used_by

BASE = Path(base.__file__)
"""What every experiment is given, and with it the engine."""


def of_inputs(experiment: Experiment, configuration: Mapping[str, Any], needs: Mapping[str, str]) -> str:
    """The digest of an experiment's inputs; `needs` maps the ids that it needs to their digests."""
    code = used_by(experiment.function, BASE)
    inputs = {"id": experiment.id, "code": code, "configuration": configuration, "needs": needs}
    return sha(json.dumps(inputs, sort_keys=True))
