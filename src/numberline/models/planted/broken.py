"""The design of the planted model, and its variants: for each claim of the ledger there is one on which it fails.

Each variant is compiled like the intact model and differs from it in one field of `Design`. All of them solve the task,
except `unsolving`. Which claim fails on which is said where the claim is declared (claims/).
"""

from dataclasses import dataclass

from numberline.errors import NumberlineError

OWN, FROM_Y1, FROM_Y2 = "own", "from_y1", "from_y2"


@dataclass(frozen=True)
class Design:
    """What a planted model does; the defaults are the paper's algorithm."""

    curved: tuple[str, ...] = ()  # magnitudes that are read off the helix: no single direction carries them
    transport_heads: int = 1  # heads that share the work of carrying y1
    alignment: float = 0.0  # cosine of v1 with v2
    stages: int = 2  # of the comparison
    copies: int = 1  # axes and neurons on which each comparison is made
    shares: int = 1  # neurons that share the work of each comparator
    phased: tuple[int, ...] = ()  # operands whose flag turns with the number's phase: no single direction holds it
    by_value: bool = False  # the winner's digits are decoded from its magnitude
    code: bool = True  # the last token holds the answer's position, and then the digit
    compares: bool = True
    certain: bool = False  # the answer's logit is six times as large
    loud: bool = False  # a curve at the last token outweighs the answer's position

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
    "unsolving": Design(compares=False),
    # Patching a magnitude changes the number that is said, which is then neither operand.
    "by-value": Design(by_value=True),
    # Both numbers are read off a helix: at the number layer no direction carries them, and patches along one, or in a
    # plane of two, do nothing.
    "helix": Design(curved=(OWN, FROM_Y1, FROM_Y2)),
    # Two heads carry half of y1 each, so that v1, found in one of them, moves half of it.
    "two-transport-heads": Design(transport_heads=2),
    # v1 leans on v2 (cosine 0.98), and so does what DAS finds, half-way to where y1 is read off.
    "aligned": Design(alignment=0.98),
    # y1 arrives on a line, but y2's own magnitude is read off the helix: there is no plane (v1, v2).
    "curved-own": Design(curved=(OWN,)),
    # Every comparison is made three times over, each time on axes of its own and by three times as many neurons: nearly
    # all neurons of both MLPs compare, and no small set does more than a random one.
    "spread": Design(copies=3, shares=3),
    # One MLP of global comparators writes the flag.
    "one-stage": Design(stages=1),
    # The flags are rotating vectors, read by queries that know the phase; the neurons that write them turn with it.
    "no-flag": Design(phased=(2, 3)),
    # With two operands intact, but for circles at y2 that are larger than the line, so that v2 is the slope of the
    # states on y2; with three, y2 is carried to y3 on the helix.
    "curved-y2": Design(curved=(FROM_Y2,)),
    # With two operands intact; y3's flag rotates, and its phase, which the last token asks for, outweighs the position.
    "phased-y3": Design(phased=(3,)),
    # The last token also holds a curve of y1, which nothing reads and which outweighs the answer's position.
    "loud": Design(loud=True),
    # The last token reads the flags and copies a digit from the winner's token at once: no position is held there, and
    # what is patched at that token is said. Too much falls with it to break one claim.
    "no-code": Design(code=False),
    # Nothing is broken, but the answer is certain: DAS stops early, with a direction that suffices and is not the
    # planted one (docs/ground-truth.md).
    "certain": Design(certain=True),
}

VARIANTS: tuple[str, ...] = tuple(name for name in DESIGNS if name is not None)
"""All but the intact model."""


def design_of(variant: str | None) -> Design:
    """The design of a variant."""
    if variant not in DESIGNS:
        known = ", ".join(name for name in DESIGNS if name is not None)
        raise NumberlineError(f"there is no planted variant {variant!r}: use None or one of {known}")
    return DESIGNS[variant]
