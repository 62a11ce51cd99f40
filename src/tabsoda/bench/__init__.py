"""Compare imputation methods: hide answers, let methods impute them, score the estimates.

Input: a survey and methods. Output: results for each cell of a study, and tables made from them.

``methods`` holds the methods, ``masking`` hides answers, ``metrics`` scores estimates, ``studies``
runs methods on surveys, and ``tables`` makes tables and figures from the results.
"""
