"""Which roles are there, and which site plays each? The table of roles, and whose choice is used.

The value in use is, in this order: the user's, the paper's for the paper's model, the run's own, which a rule finds
(role_rules.py). `settle` decides, and keeps the run's evidence beside a value from elsewhere. Experiments that find a
role give it with their result; the others ask for it with `require`, which says what is missing.
"""

from collections.abc import Iterable
from dataclasses import replace

from numberline.engine.lab import Lab
from numberline.errors import NumberlineError, nearest
from numberline.experiments.common.experiment import Context, MissingError, check_there
from numberline.models.network import Network
from numberline.results.paper_roles import SITES
from numberline.results.roles import Role

FOLLOWS = {"number_layer_k3": "number_layer", "readout_layer_k3": "readout_layer"}
"""A role that takes the user's choice of another one, unless it has a choice of its own."""


def settle(lab: Lab, context: Context, *roles: Role) -> list[Role]:
    """Each role with the value that is to be used, and where that value comes from."""
    return [_settled(lab, context, role) for role in roles]


def _settled(lab: Lab, context: Context, role: Role) -> Role:
    for source, values in (("the user", context.roles), ("the paper", SITES if is_papers(lab) else {})):
        name = role.name if role.name in values else FOLLOWS.get(role.name, role.name)
        if name in values:
            here = f"this run's own evidence says {spell(role.value)}" if role.found else "not found by this run"
            value = check_range(lab.network, role.name, tuple(values[name]))
            why = f"chosen by {source}; {here}: {role.why}"
            return replace(role, value=value, found=True, source=source, why=why)
    return role


def require(context: Context, name: str) -> Role:
    """A role from the results that an experiment was given; where it was not found, the experiment is missing."""
    for id, result in context.needs.items():
        role = result.role(name)
        if role is not None:
            if not role.found:
                raise MissingError(not_found(role))
            return role
        check_there(id, result)
    raise NumberlineError(f"no given result says which {name} to use: name the one that finds it among the needs")


def not_found(role: Role) -> str:
    """Why what depends on a role is missing."""
    return f"the role {role.name} was not found on this model: {role.why}"


def known(context: Context, name: str) -> Role | None:
    """The same, or none where it was not found."""
    try:
        return require(context, name)
    except MissingError:
        return None


def is_papers(lab: Lab) -> bool:
    """Whether this is the paper's model."""
    network = lab.network
    shape = (network.n_layers, network.d_model, network.n_heads, network.d_mlp, network.vocabulary)
    return is_papers_shape(lab.loaded.name, shape)


def is_papers_shape(name: str, shape: tuple[int, ...]) -> bool:
    """Whether a name and (layers, width, heads, neurons, vocabulary) are those of Qwen2.5-7B-Instruct."""
    return shape == (28, 3584, 28, 18944, 152064) and "qwen2.5-7b-instruct" in name.lower()


def parse(text: str) -> tuple[str, tuple[int, ...]]:
    """A role as the command line takes it: number_layer=13, transport_head=14.14, comparator_mlps=14,15."""
    name, _, written = text.partition("=")
    if name not in SITES:
        raise NumberlineError(f"there is no role {name!r}: {nearest(name, SITES)}")
    numbers = written.replace(",", ".").split(".")
    single, pair = "_layer" in name, "_head" in name
    if not all(number.isdecimal() for number in numbers) or (single and len(numbers) != 1) or (
        pair and len(numbers) != 2
    ):  # fmt: skip
        raise NumberlineError(f"{text!r} gives no value for {name}: write {spelling(name)}")
    return name, tuple(int(number) for number in numbers)


def spelling(name: str) -> str:
    """How a role's value is written, with the paper's: a layer and a head: 14.14."""
    kind, mark = ("a layer and a head", ".") if "_head" in name else ("a layer" if "_layer" in name else "layers", ",")
    return f"{kind}: {mark.join(map(str, SITES[name]))}"


def check_range(network: Network, name: str, value: tuple[int, ...]) -> tuple[int, ...]:
    """Refuse a layer or a head that the model does not have."""
    layers, heads = (value[:1], value[1:]) if "_head" in name else (value, ())
    if any(layer >= network.n_layers for layer in layers) or any(head >= network.n_heads for head in heads):
        raise NumberlineError(
            f"{name} cannot be {spell(value)}: the model has layers 0 to {network.n_layers - 1} and heads 0 to "
            f"{network.n_heads - 1}"
        )
    return value


def spell(value: Iterable[int]) -> str:
    """A role's value in words: 13, or 14.14."""
    return ".".join(str(number) for number in value)
