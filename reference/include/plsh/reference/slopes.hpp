/// \file
/// The ALiBi slopes (Press, Smith, Lewis 2022).
#pragma once

#include <vector>

namespace plsh::reference {

/// The slope of each head. For H = 2^k heads, m_h = 2^(-8 (h+1) / H), h = 0..H-1. For other H the
/// rule of the ALiBi authors' code: the slopes of the largest power of two P <= H, followed by
/// every second slope of the 2P-head set, starting with its first. \param heads 1 to 65 536.
/// \throws std::invalid_argument outside that range.
std::vector<double> alibi_slopes(int heads);

/// The decay lengths sigma_h = 1 / m_h in positions: for 8 heads 2, 4, ..., 256.
std::vector<double> alibi_decay_lengths(int heads);

}  // namespace plsh::reference
