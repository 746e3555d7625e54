"""All rules of the audit, in the order a reader meets them."""

from __future__ import annotations

from scalecurve.auditing.arithmetic_rules import ARITHMETIC_RULES
from scalecurve.auditing.baseline_rules import BASELINE_RULES
from scalecurve.auditing.measurement_rules import MEASUREMENT_RULES
from scalecurve.auditing.workload_rules import WORKLOAD_RULES

RULES = (*BASELINE_RULES, *WORKLOAD_RULES, *MEASUREMENT_RULES, *ARITHMETIC_RULES)
