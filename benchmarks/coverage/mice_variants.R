# Reads values.csv, columns.csv and terms.csv from a folder, imputes with mice, writes draw_1.csv ...
# Arguments: folder, draws, iterations, variant (default, cart or products), seed.
# terms.csv has a formula term per line: the products that the true model of a column has.
suppressWarnings(suppressMessages(library(mice)))

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
draws <- as.integer(arguments[2])
iterations <- as.integer(arguments[3])
variant <- arguments[4]
seed <- as.integer(arguments[5])

columns <- read.csv(file.path(folder, "columns.csv"), stringsAsFactors = FALSE)
data <- read.csv(file.path(folder, "values.csv"), check.names = FALSE)
for (position in seq_len(ncol(data))) {
  kind <- columns$kind[position]
  if (kind %in% c("nominal", "ordinal")) {
    distinct <- length(unique(na.omit(data[[position]])))
    data[[position]] <- factor(data[[position]], ordered = kind == "ordinal" && distinct > 2)
  }
}

options <- list(data, m = draws, maxit = iterations, printFlag = FALSE, seed = seed,
                nnet.MaxNWts = 20000)
if (variant == "cart") options$method <- "cart"
if (variant == "products") {
  terms <- read.csv(file.path(folder, "terms.csv"), stringsAsFactors = FALSE)
  # Ordinal predictors enter products as scores, as in the analyses.
  score <- function(name) if (is.ordered(data[[name]])) paste0("as.numeric(", name, ")") else name
  incomplete <- names(data)[colSums(is.na(data)) > 0]
  options$formulas <- setNames(lapply(incomplete, function(own) {
    others <- setdiff(names(data), own)
    mine <- terms[terms$column == own, ]
    products <- vapply(seq_len(nrow(mine)), function(row) {
      factors <- strsplit(mine$term[row], ":")[[1]]
      if (length(unique(factors)) == 1) paste0("I(", score(factors[1]), "^2)")
      else paste(vapply(factors, score, ""), collapse = ":")
    }, "")
    as.formula(paste(own, "~", paste(c(others, products), collapse = " + ")))
  }), incomplete)
}
result <- do.call(mice, options)
for (draw in seq_len(draws)) {
  completed <- complete(result, draw)
  for (position in seq_len(ncol(completed))) {
    if (is.factor(completed[[position]])) {
      completed[[position]] <- as.integer(as.character(completed[[position]]))
    }
  }
  write.csv(completed, file.path(folder, paste0("draw_", draw, ".csv")), row.names = FALSE)
}
