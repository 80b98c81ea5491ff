/// \file
/// Whose turn it is, as the schedule says.
#pragma once

#include <plsh/optimized/cuda/host/options.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace plsh::optimized::cuda::host {

class Turns {
 public:
  explicit Turns(Schedule schedule) : order_(schedule.order), random_(schedule.seed) {}

  /// Puts items that are in their natural order into that of their turns.
  template <class T>
  void arrange(std::vector<T>& items) {
    if (order_ == Schedule::Order::reverse) std::reverse(items.begin(), items.end());
    if (order_ == Schedule::Order::random) std::shuffle(items.begin(), items.end(), random_);
  }

  /// 0..count-1 in the order of their turns.
  void draw(std::vector<int>& order, int count) {
    order.resize(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    arrange(order);
  }

  /// One of 0..count-1, count >= 1.
  std::size_t pick(std::size_t count) {
    if (order_ == Schedule::Order::forward) return 0;
    if (order_ == Schedule::Order::reverse) return count - 1;
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

  /// Whether something that could wait longer happens now: never, or at random once in four times.
  bool early() {
    return order_ == Schedule::Order::random && std::uniform_int_distribution(0, 3)(random_) == 0;
  }

 private:
  Schedule::Order order_;
  std::mt19937_64 random_;
};

}  // namespace plsh::optimized::cuda::host
