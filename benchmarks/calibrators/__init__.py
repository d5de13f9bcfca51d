"""Ways from an SVM to probabilities, a file for each package."""
