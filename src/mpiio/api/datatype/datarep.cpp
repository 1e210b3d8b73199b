#include "mpiio/api/datatype/datarep.hpp"

#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

// A conversion function of the program; empty for MPI_CONVERSION_FN_NULL.
using Convert = std::function<int(void*, MPI_Datatype, int64_t, void*)>;

// A representation registered by the program.
class Registered final : public Datarep {
 public:
  Registered(Convert read, Convert write, MPI_Datarep_extent_function* extent, void* state)
      : read_(std::move(read)), write_(std::move(write)), extent_(extent), state_(state) {}

  layout::TypeMap in_file(MPI_Datatype type) const override {
    return type_map_with(type, [this](MPI_Datatype leaf) {
      MPI_Aint extent = 0;
      must_succeed(extent_(leaf, &extent, state_));
      return layout::TypeMap::bytes(extent);
    });
  }

  std::vector<std::byte> to_file(const void* user, MPI_Datatype type, int64_t count) const override {
    std::vector<std::byte> result(static_cast<size_t>(count * in_file(type).size()));
    if (write_) {
      must_succeed(write_(const_cast<void*>(user), type, count, result.data()));
    } else {
      pack(user, type_map(type), result);
    }
    return result;
  }

  int64_t from_file(std::span<const std::byte> bytes, void* user, MPI_Datatype type,
                    int64_t count) const override {
    if (!read_) {
      unpack(bytes, user, type_map(type));
      return std::ssize(bytes);
    }
    const int64_t size = in_file(type).size();
    const int64_t found = size > 0 ? std::min(count, std::ssize(bytes) / size) : 0;
    must_succeed(read_(user, type, found, const_cast<std::byte*>(bytes.data())));
    return found * type_map(type).size();
  }

 private:
  static void must_succeed(int result) {
    if (result != MPI_SUCCESS)
      throw MpiError(MPI_ERR_CONVERSION, "a conversion function of the program has failed");
  }

  Convert read_;
  Convert write_;
  MPI_Datarep_extent_function* extent_;
  void* state_;
};

struct Names {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Datarep>> all{
      {"native", nullptr}, {"internal", nullptr}, {"external32", make_external32()}};
};

Names& names() {
  static auto* const one = new Names;
  return *one;
}

// Wraps a conversion function of the program. `Number` is int or MPI_Count.
template <class Number>
Convert conversion(int (*function)(void*, MPI_Datatype, Number, void*, MPI_Offset, void*), void* state) {
  if (!function) return nullptr;
  return [=](void* user, MPI_Datatype type, int64_t count, void* file) {
    if (count > std::numeric_limits<Number>::max())
      throw MpiError(MPI_ERR_COUNT, "too many instances for a conversion function");
    return function(user, type, static_cast<Number>(count), file, 0, state);
  };
}

template <class Function>
int register_for_program(const char* call, const char* name, Function* read, Function* write,
                         MPI_Datarep_extent_function* extent, void* state) {
  return without_file(call, [&] {
    if (!name || !extent)
      throw MpiError(MPI_ERR_ARG, "a data representation needs a name and an extent function");
    const std::string key = name;
    if (key.empty() || key.size() > MPI_MAX_DATAREP_STRING)
      throw MpiError(MPI_ERR_ARG, "names of data representations have 1 to " +
                                      std::to_string(MPI_MAX_DATAREP_STRING) + " characters");
    const auto made =
        std::make_shared<Registered>(conversion(read, state), conversion(write, state), extent, state);
    const std::scoped_lock lock(names().mutex);
    if (!names().all.emplace(key, made).second)
      throw MpiError(MPI_ERR_DUP_DATAREP, "the data representation '" + key + "' exists already");
  });
}

}  // namespace

std::shared_ptr<const Datarep> find_datarep(const std::string& name) {
  const std::scoped_lock lock(names().mutex);
  const auto found = names().all.find(name);
  if (found == names().all.end())
    throw MpiError(MPI_ERR_UNSUPPORTED_DATAREP, "no data representation '" + name + "' is registered");
  return found->second;
}

}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

int PMPI_Register_datarep(const char* name, MPI_Datarep_conversion_function* read,
                          MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent,
                          void* state) {
  return register_for_program("MPI_Register_datarep", name, read, write, extent, state);
}

// The type MPI_Datarep_conversion_function_c of MPI 4.
using LargeConversion = int(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);

int PMPI_Register_datarep_c(const char* name, LargeConversion* read, LargeConversion* write,
                            MPI_Datarep_extent_function* extent, void* state) {
  return register_for_program("MPI_Register_datarep_c", name, read, write, extent, state);
}

}  // extern "C"
