"""The design of the planted model, and the broken designs: for each claim of the ledger, a model on which it fails.

Each broken variant is compiled like the intact model and differs from it in one field of `Design`. All of them solve
the task, except `unsolving`. What else falls with a claim (what depends on it) is said in the comment.
"""

from dataclasses import dataclass

from numberline.errors import NumberlineError

OWN, FROM_Y1, FROM_Y2 = "own", "from_y1", "from_y2"


@dataclass(frozen=True)
class Design:
    """What a planted model does; the defaults are the paper's algorithm."""

    breaks: tuple[str, ...] = ()
    curved: tuple[str, ...] = ()  # magnitudes that are read off the helix: no single direction carries them
    transport_heads: int = 1  # heads that share the work of carrying y1
    alignment: float = 0.0  # cosine of v1 with v2
    stages: int = 2  # of the comparison
    copies: int = 1  # neurons that share the work of each comparator
    phased: tuple[int, ...] = ()  # operands whose flag turns with the number's phase: no single direction holds it
    by_value: bool = False  # the winner's digits are decoded from its magnitude
    code: bool = True  # the last token holds the answer's position, and then the digit
    compares: bool = True

    @property
    def unfolds(self) -> bool:
        """Whether the block of transport must first read magnitudes off the helix; then all else is a block later."""
        return bool(self.curved)

    @property
    def first_block(self) -> int:
        """The block whose MLP compares first."""
        return 4 if self.unfolds else 3

    @property
    def flag_block(self) -> int:
        """The block whose MLP writes the flag."""
        return self.first_block + self.stages - 1


DESIGNS: dict[str | None, Design] = {
    None: Design(),
    # Nothing compares: the model names the last operand. Whatever is measured on the answer falls with it.
    "unsolving": Design(breaks=("solves",), compares=False),
    # Patching u changes the number that is said: position recovery falls wherever a magnitude is patched.
    "by-value": Design(breaks=("position",), by_value=True),
    # Both numbers are read off a helix: at the number layer no direction carries them; v1, v2 and the plane fall too.
    "helix": Design(breaks=("linear",), curved=(OWN, FROM_Y1, FROM_Y2)),
    # Two heads carry half of y1 each.
    "two-transport-heads": Design(breaks=("transport",), transport_heads=2),
    # v1 leans on v2 (cosine 0.8): patching both one by one counts their overlap twice.
    "aligned": Design(breaks=("additive",), alignment=0.8),
    # y1 arrives on a line, but y2's own magnitude is read off the helix: there is no plane (v1, v2).
    "curved-own": Design(breaks=("plane",), curved=(OWN,)),
    # Every comparator is shared by eight neurons. Freezing one neuron of each kind does nothing; freezing several
    # rising hinges without their falling partners still unbalances the ramps.
    "spread": Design(breaks=("neurons",), copies=8),
    # One MLP of global comparators writes the flag.
    "one-stage": Design(breaks=("two-stage",), stages=1),
    # The flag is a rotating vector, read by a query that knows the phase; three-flags falls too.
    "no-flag": Design(breaks=("flag",), phased=(2, 3)),
    # With two operands intact; with three, y2 is carried to y3 on the helix.
    "curved-y2": Design(breaks=("three-linear",), curved=(FROM_Y2,)),
    # With two operands intact; y3's flag rotates.
    "phased-y3": Design(breaks=("three-flags",), phased=(3,)),
    # The last token reads the flags and copies a digit at once: no position is held there.
    "no-code": Design(breaks=("three-readout",), code=False),
}

VARIANTS: tuple[str, ...] = tuple(name for name in DESIGNS if name is not None)


def design_of(variant: str | None) -> Design:
    """The design of a variant."""
    if variant not in DESIGNS:
        raise NumberlineError(f"there is no planted variant {variant!r}: use None or one of {', '.join(VARIANTS)}")
    return DESIGNS[variant]
