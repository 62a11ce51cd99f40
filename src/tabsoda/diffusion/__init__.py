"""Stage 6a, diffuse: EDM on encoded tables; knows tensors and masks, nothing of surveys.

Input: coordinates, masks and noise levels. Output: denoised coordinates, losses, samples.
"""
