#include "base/service_thread.hpp"

#include <utility>

namespace sheaf {

std::thread service_thread(std::function<void()> body) {
  const SignalsBlocked blocked;
  return std::thread(std::move(body));
}

}  // namespace sheaf
