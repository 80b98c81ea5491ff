/// \file
/// Which fault is active. The copies of the optimized code that plant.py writes include this file.
#pragma once

/// Its number in faults.txt, from 1 on; 0 for none. Taken from the environment variable
/// PLSH_CPU_FAULT when the library is loaded.
extern const int plsh_planted;
