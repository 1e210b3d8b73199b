#include "storage/posix/beneath.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

std::string path_beneath(std::string_view root, std::string_view name) {
  if (name.find('\0') != std::string_view::npos)
    throw Error(Code::invalid_argument,
                "'" + std::string(name) + "' is no name of a file: it has a zero in it", EINVAL);
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (name.substr(at, end - at) == "..")
      throw Error(Code::permission,
                  "'" + std::string(name) + "' leads out of '" + std::string(root) +
                      "': names may not have '..' in them",
                  EACCES);
    at = end + 1;
  }
  const size_t begin = name.find_first_not_of('/');
  return begin == std::string_view::npos ? "." : std::string(name.substr(begin));
}

namespace {

// The default for stores without links.
class PrefixedStore final : public ForwardingStore {
 public:
  PrefixedStore(Store& inner, std::string root) : ForwardingStore(inner), root_(std::move(root)) {}

  std::string target_of(const std::string& path) override { return path; }

 private:
  std::string name_there(const std::string& path) const override {
    return root_ + "/" + path_beneath(root_, path);
  }

  std::string root_;
};

}  // namespace

std::shared_ptr<Store> Store::beneath(std::string root) {
  return std::make_shared<PrefixedStore>(*this, std::move(root));
}

}  // namespace sheaf
