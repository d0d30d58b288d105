"""Does the model need its comparator neurons? Accuracy with the shared neurons set to zero.

1. For 2, 3, 4, 5, 10 and 20 operands, 200 prompts each in the list format (those of behaviour.operands), the answer is
   decoded greedily for one token more than the operands have digits.
2. Conditions: the intact model; the shared neurons of two numbers zeroed at every token, those that are generated
   included; zeroed only at the last token of the final operand; and two random sets of as many neurons of the same MLPs
   zeroed at every token, pooled.
3. Right is an answer whose leading characters are the true maximum, as in the paper; beside it, the stricter rule of
   behaviour.operands, that its first integer is the maximum.

Tables
- `accuracy`: k, condition ("intact", "every token", "last token", "random"), neurons (how many are zeroed), draws,
  metric ("leading", "integer"), right, mean, se, n, lo, hi (Wilson).
"""
