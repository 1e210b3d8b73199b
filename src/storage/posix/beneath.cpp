#include "storage/posix/beneath.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

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

// For stores without links.
class PrefixedStore final : public Store {
 public:
  PrefixedStore(Store& inner, std::string root) : inner_(inner), root_(std::move(root)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return inner_.open(full(path), access);
  }
  FileStatus status(const std::string& path) override { return inner_.status(full(path)); }
  void remove(const std::string& path) override { inner_.remove(full(path)); }
  void rename(const std::string& from, const std::string& to) override {
    inner_.rename(full(from), full(to));
  }
  std::shared_ptr<WriteSlots> make_slots(int count) override { return inner_.make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return inner_.join_slots(name, count);
  }
  std::string place_of(const std::string& path) override { return inner_.place_of(full(path)); }
  FileSystemTraits traits(const std::string& path) override { return inner_.traits(full(path)); }
  void sync_name(const std::string& path) override { inner_.sync_name(full(path)); }

 private:
  std::string full(const std::string& path) const { return root_ + "/" + path_beneath(root_, path); }

  Store& inner_;
  std::string root_;
};

}  // namespace

std::shared_ptr<Store> Store::beneath(std::string root) {
  return std::make_shared<PrefixedStore>(*this, std::move(root));
}

}  // namespace sheaf
