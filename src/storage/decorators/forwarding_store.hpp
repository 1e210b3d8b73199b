// storage/decorators/forwarding_store: a Store that hands on to another one; decorators override what they
// are about. Its files are those of the other one, unless a decorator wraps them.
#pragma once

#include "storage/store.hpp"

namespace sheaf {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& inner) : inner_(inner) {}  // which outlives the object
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return inner_.open(path, access);
  }
  bool make_in_stripes(const std::string& path, const Striping& wanted) override {
    return inner_.make_in_stripes(path, wanted);
  }
  FileStatus status(const std::string& path) override { return inner_.status(path); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }
  std::vector<std::string> names_in(const std::string& directory) override {
    return inner_.names_in(directory);
  }
  std::string place_of(const std::string& path) override { return inner_.place_of(path); }
  std::string target_of(const std::string& path) override { return inner_.target_of(path); }
  void take_after(const std::string& path, const std::string& like, Making making) override {
    inner_.take_after(path, like, making);
  }
  FileSystemTraits traits(const std::string& path) override { return inner_.traits(path); }
  FileSystemTraits traits_of(File& file) override { return inner_.traits_of(file); }
  void sync_name(const std::string& path) override { inner_.sync_name(path); }
  std::shared_ptr<WriteSlots> make_slots(int count) override { return inner_.make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return inner_.join_slots(name, count);
  }

 protected:
  Store& inner() const { return inner_; }

 private:
  Store& inner_;
};

}  // namespace sheaf
