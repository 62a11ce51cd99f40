# Rubin's rules with the degrees of freedom of Barnard and Rubin (1999). `fits` has, for each draw,
# the estimates, their covariance, the degrees of freedom without missing answers, and n.
pooled <- function(fits, shares = FALSE) {
  m <- length(fits)
  estimates <- do.call(rbind, lapply(fits, function(f) unname(f$estimates)))
  within <- colMeans(do.call(rbind, lapply(fits, function(f) diag(as.matrix(f$covariance)))))
  between <- apply(estimates, 2, var)
  total <- within + (1 + 1 / m) * between
  lambda <- ifelse(total > 0, (1 + 1 / m) * between / total, 0)
  complete <- min(sapply(fits, function(f) f$df))
  old <- (m - 1) / pmax(lambda, 1e-4)^2
  observed <- (complete + 1) / (complete + 3) * complete * (1 - pmax(lambda, 1e-4))
  df <- ifelse(lambda <= 1e-12, complete, old * observed / (old + observed))
  estimate <- colMeans(estimates)
  std_error <- sqrt(total)
  reach <- qt(0.975, df) * std_error
  low <- estimate - reach
  high <- estimate + reach
  if (shares) {
    # On the logit scale; shares of 0 and 1 have the exact binomial interval.
    wide <- reach / (estimate * (1 - estimate))
    low <- plogis(qlogis(estimate) - wide)
    high <- plogis(qlogis(estimate) + wide)
    exact <- 1 - 0.025^(1 / min(sapply(fits, function(f) f$n)))
    low[estimate == 0] <- 0; high[estimate == 0] <- exact
    low[estimate == 1] <- 1 - exact; high[estimate == 1] <- 1
  }
  data.frame(term = names(fits[[1]]$estimates), estimate, std_error, df, low, high,
             p_value = 2 * pt(-abs(estimate / std_error), df), lambda)
}
