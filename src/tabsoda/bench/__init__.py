"""Compare imputation methods: hide answers, impute them, and score the estimates."""
