"""Four coffee shops ask which orders are most popular across all of them, without seeing any guest's order."""

from pathlib import Path

import treetop

shops = treetop.load(Path(__file__).with_name("coffee_shops.csv"))
answer = treetop.find(shops, k=5, epsilon=2, seed=1)
for row in answer.items:
    print(f"{row.item:<12} {row.count:>7,.0f} ± {row.stderr:,.0f} guests (truly {row.true_count:,})")
if answer.truth:
    print(f"F1 {answer.truth.f1:.2f}")
