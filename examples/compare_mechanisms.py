"""A researcher compares two mechanisms on the built-in federation at two privacy budgets."""

import treetop

if __name__ == "__main__":  # worker processes import this file
    evaluation = treetop.evaluate(
        treetop.synthetic(), mechanisms=["fedpem", "taps"], epsilons=[1, 4], repeats=10, workers=2, seed=1
    )
    for row in evaluation.rows:
        print(f"{row.mechanism:<7} epsilon {row.epsilon:g}: F1 {row.f1:.2f} ± {row.f1_se:.2f}")
