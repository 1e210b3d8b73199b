#include "exchange/windows.hpp"

#include <algorithm>

namespace sheaf::exchange {

Windows Windows::over(int64_t low, int64_t high, int64_t size, bool aligned) {
  return {low, high, aligned ? low - low % size : low, size};
}

std::vector<uint32_t> in_rounds_of(int64_t count, int64_t domains) {
  domains = std::clamp<int64_t>(domains, 1, std::max<int64_t>(count, 1));
  const int64_t each = count / domains;
  const int64_t longer = count % domains;  // the first so many have one more
  std::vector<uint32_t> order;
  order.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t domain = i % domains;
    order.push_back(static_cast<uint32_t>(domain * each + std::min(domain, longer) + i / domains));
  }
  return order;
}

}  // namespace sheaf::exchange
