# Quantiles of all draws together, with Woodruff's intervals: Rubin's rules pool the share of
# respondents below the quantile, and the ends of its interval become quantiles again.
quantiles_at <- function(x, mass, shares) {
  reached <- cumsum(mass) / sum(mass)
  at <- function(p) x[pmin(1 + sapply(p, function(one) sum(reached < one)), length(x))]
  (at(shares - 1e-9) + at(shares + 1e-9)) / 2
}
woodruff <- function(name, shares, chosen) {
  stacked <- do.call(rbind, lapply(draws, function(d) {
    d <- d[chosen(d), ]
    data.frame(x = d[[name]], mass = d$weight_ / sum(d$weight_))
  }))
  stacked <- stacked[order(stacked$x), ]
  points <- quantiles_at(stacked$x, stacked$mass, shares)
  share_of <- function(inside) sum(stacked$mass[inside]) / sum(stacked$mass)
  below <- sapply(points, function(q) share_of(stacked$x < q))
  at <- sapply(points, function(q) share_of(stacked$x <= q))
  part <- ifelse(at > below, (shares - below) / (at - below), 0)
  fits <- lapply(draws, function(d) {
    x <- d[[name]]
    z <- sapply(seq_along(points), function(k) (x < points[k]) + part[k] * (x == points[k]))
    means_of(d, chosen(d), matrix(z, ncol = length(points), dimnames = list(NULL, shares)))
  })
  # Where many gave the same answer, the counted part hardly varies, but the sample does.
  found <- pooled(fits)
  lacking <- pmax(shares * (1 - shares) / min(sapply(fits, function(f) f$n)) - found$std_error^2, 0)
  found <- pooled(lapply(fits, function(f) {
    f$covariance <- as.matrix(f$covariance) + diag(lacking, length(shares))
    f
  }))
  wide <- qt(0.975, found$df) * found$std_error / (shares * (1 - shares))
  low <- quantiles_at(stacked$x, stacked$mass, plogis(qlogis(shares) - wide))
  high <- quantiles_at(stacked$x, stacked$mass, plogis(qlogis(shares) + wide))
  std_error <- (high - low) / (2 * qt(0.975, found$df))
  reach <- qt(0.975, found$df) * std_error
  data.frame(term = paste0(name, ": ", shares, " quantile"), estimate = points, std_error,
             df = found$df, low = points - reach, high = points + reach,
             p_value = 2 * pt(-abs(points / std_error), found$df), lambda = found$lambda)
}
