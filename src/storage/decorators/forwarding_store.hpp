// storage/decorators/forwarding_store: a Store that forwards to another Store, or to several; decorators
// override some of the calls. It returns the files of the inner store unless a decorator wraps them.
#pragma once

#include "storage/store.hpp"

namespace sheaf {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& inner) : inner_(inner) {}  // must outlive the object
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return store_of(path)->open(name_there(path), access);
  }
  bool make_in_stripes(const std::string& path, const Striping& wanted) override {
    return store_of(path)->make_in_stripes(name_there(path), wanted);
  }
  FileStatus status(const std::string& path) override { return store_of(path)->status(name_there(path)); }
  void remove(const std::string& path) override { store_of(path)->remove(name_there(path)); }
  void rename(const std::string& from, const std::string& to) override {
    store_of(from)->rename(name_there(from), name_there(to));
  }
  std::vector<std::string> names_in(const std::string& directory) override {
    return store_of(directory)->names_in(name_there(directory));
  }
  std::string place_of(const std::string& path) override {
    return store_of(path)->place_of(name_there(path));
  }
  std::string target_of(const std::string& path) override { return store_of(path)->target_of(path); }
  void copy_attributes(const std::string& path, const std::string& like, ReplaceState state) override {
    store_of(path)->copy_attributes(name_there(path), name_there(like), state);
  }
  FileSystemTraits traits(const std::string& path) override {
    return store_of(path)->traits(name_there(path));
  }
  FileSystemTraits traits_of(File& file) override { return store_of(file.path())->traits_of(file); }
  FilePlacement placement_of(File& file, FileSystem kind) override {
    return store_of(file.path())->placement_of(file, kind);
  }
  bool is_host(const std::string& name) override { return inner_.is_host(name); }
  void sync_name(const std::string& path) override { store_of(path)->sync_name(name_there(path)); }
  std::shared_ptr<WriteSlots> make_slots(int count) override { return inner_.make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return inner_.join_slots(name, count);
  }

 protected:
  Store& inner() const { return inner_; }

  // store_of() returns the store of a path, and name_there() the path's name in that store.
  virtual std::shared_ptr<Store> store_of(const std::string& /*path*/) {
    return {std::shared_ptr<Store>(), &inner_};
  }
  virtual std::string name_there(const std::string& path) const { return path; }

 private:
  Store& inner_;
};

}  // namespace sheaf
