# Reads values.csv and columns.csv from a folder, imputes with mice, writes draw_1.csv ... there.
# Arguments: folder, draws, iterations, least correlation of a predictor, seed.
suppressWarnings(suppressMessages(library(mice)))

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
draws <- as.integer(arguments[2])
iterations <- as.integer(arguments[3])
least <- as.numeric(arguments[4])
seed <- as.integer(arguments[5])

columns <- read.csv(file.path(folder, "columns.csv"), stringsAsFactors = FALSE)
data <- read.csv(file.path(folder, "values.csv"), check.names = FALSE)

# Level names of equal width: older versions of mice sort the levels of ordered factors as texts.
as_levels <- function(codes, ordered) {
  factor(sprintf("%05d", codes), levels = sprintf("%05d", sort(unique(codes[!is.na(codes)]))),
         ordered = ordered)
}

method <- setNames(rep("", ncol(data)), names(data))
for (position in seq_len(ncol(data))) {
  kind <- columns$kind[position]
  codes <- data[[position]]
  distinct <- length(unique(codes[!is.na(codes)]))
  if (kind %in% c("nominal", "ordinal")) {
    codes[!is.na(codes)] <- as.integer(codes[!is.na(codes)])
    gaps <- is.na(codes)
    data[[position]] <- as_levels(codes, kind == "ordinal" && distinct > 2)
    data[[position]][gaps] <- NA
  }
  if (!anyNA(codes) || distinct == 0) next
  method[position] <- if (kind == "continuous") "pmm"
    else if (distinct == 2) "logreg"
    else if (kind == "ordinal") "polr"
    else "polyreg"
  # With a single answer there is nothing to model: a random answer is that answer.
  if (distinct < 2) method[position] <- "sample"
}

predictors <- quickpred(data, mincor = least)
result <- mice(data, m = draws, maxit = iterations, method = method, predictorMatrix = predictors,
               printFlag = FALSE, seed = seed, nnet.MaxNWts = 20000)
for (draw in seq_len(draws)) {
  completed <- complete(result, draw)
  for (position in seq_len(ncol(completed))) {
    if (is.factor(completed[[position]])) {
      completed[[position]] <- as.integer(as.character(completed[[position]]))
    }
  }
  write.csv(completed, file.path(folder, paste0("draw_", draw, ".csv")), row.names = FALSE)
}
