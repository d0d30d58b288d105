"""Is it the same with three digits? The analysis of k2_number.py for operands from 100 to 999.

As k2.number, at the same layer, with counterfactuals and a cloud of three-digit numbers and two initialisations of u.
Components are averaged in bins of 25 instead of per value.

Tables and tensors: those of k2.number; in `components`, `value` is the middle of the bin; `values_…`, `means_…` bins.
Subspaces: u_three_digit, u_second_three_digit, v2_three_digit.
"""
