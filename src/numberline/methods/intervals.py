"""How sure is a measured mean? The intervals of `numberline.estimates`, for tensors."""

import math
from dataclasses import replace
from functools import cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline import estimates
from numberline.estimates import CONFIDENCE, Estimate, wilson

__all__ = ["CONFIDENCE", "Estimate", "drawn_share", "from_resamples", "mean", "ratio", "resamples", "share", "wilson"]


def mean(values: Float[Tensor, " n"]) -> Estimate:
    """The mean, its standard error, and the percentile bootstrap interval."""
    found = estimates.mean(values.double().cpu().numpy())
    return replace(found, se=float(values.double().std() / math.sqrt(len(values)))) if len(values) > 1 else found


def ratio(numerator: Float[Tensor, " n"], denominator: Float[Tensor, " n"]) -> Estimate:
    """Mean numerator over mean denominator; examples are resampled in pairs. The error is the bootstrap's."""
    return estimates.ratio(numerator.double().cpu().numpy(), denominator.double().cpu().numpy())


def share(right: Bool[Tensor, " n"]) -> Estimate:
    """The share of true entries, with its Wilson interval."""
    return wilson(right.tolist())


def drawn_share(hits: Bool[Tensor, "draws n"]) -> Estimate:
    """The share of right answers of a control of several draws; Wilson's, over examples and draws."""
    return share(hits[0]) if len(hits) == 1 else estimates.drawn_share(hits.cpu().numpy())


def from_resamples(value: float, drawn: Float[Tensor, " resamples"], n: int) -> Estimate:
    """Any statistic of n examples, with its error and its percentile interval over the resamples that have it."""
    return estimates.from_resamples(value, drawn.double().cpu().numpy(), n)


@cache
def resamples(n: int) -> Float[Tensor, "resamples n"]:
    """The weight of each of n examples in each resample: the same draws for every score of n examples."""
    return torch.from_numpy(estimates.resamples(n))
