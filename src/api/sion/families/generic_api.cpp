#include "api/sion/families/generic_api.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"

namespace sheaf::api {
namespace {

std::mutex apis_mutex;
std::map<int, GenericApi> apis;
int next_aid = max_handles;  // API ids and sids are disjoint, so that a call detects an id of the wrong kind

Error no_such_api(int aid) {
  return Error(Code::invalid_argument, "invalid API identifier " + std::to_string(aid));
}

// Registers a callback and returns `success`. If the id is invalid or the callback is null or already
// registered, returns `failure`.
template <class Member, class Callback>
int set(const char* function, int aid, Member member, Callback callback, int success, int failure) {
  return guarded(function, -1, failure, [&] {
    if (!callback) throw Error(Code::invalid_argument, "no callback given");
    const std::lock_guard lock(apis_mutex);
    const auto found = apis.find(aid);
    if (found == apis.end()) throw no_such_api(aid);
    auto& place = member(found->second);
    if (place) throw Error(Code::wrong_mode, "the callback is set already");
    place = callback;
    return success;
  });
}

}  // namespace

void GenericApi::check_complete() const {
  const std::pair<bool, const char*> needed[] = {{comm.create_group, "create_local_commgroup"},
                                                 {comm.free_group, "free_local_commgroup"},
                                                 {comm.barrier, "barrier"},
                                                 {comm.bcastr, "bcastr"},
                                                 {comm.gatherr, "gatherr"},
                                                 {comm.gathervr, "gathervr"},
                                                 {comm.scatterr, "scatterr"},
                                                 {comm.scattervr, "scattervr"}};
  std::string missing;
  for (const auto& [there, callback] : needed)
    if (!there) missing.append(missing.empty() ? "" : ", ").append(callback);
  if (!missing.empty())
    throw Error(Code::invalid_argument, "the API '" + name + "' lacks the callbacks " + missing);
}

GenericApi generic_api(int aid) {
  const std::lock_guard lock(apis_mutex);
  const auto found = apis.find(aid);
  if (found == apis.end()) throw no_such_api(aid);
  return found->second;
}

}  // namespace sheaf::api

using namespace sheaf;
using namespace sheaf::api;

int sion_generic_create_api(char* name) {
  return guarded("sion_generic_create_api", -1, -1, [&] {
    if (!name) throw Error(Code::invalid_argument, "no name given");
    const std::lock_guard lock(apis_mutex);
    apis[next_aid].name = name;
    return next_aid++;
  });
}

int sion_generic_free_api(int aid) {
  return succeeds("sion_generic_free_api", -1, [&] {
    const std::lock_guard lock(apis_mutex);
    if (apis.erase(aid) == 0) throw no_such_api(aid);
  });
}

#define SHEAF_REGISTER(name, member)                                                                  \
  return set(                                                                                         \
      "sion_generic_register_" #name "_cb", aid, [](GenericApi& api) -> auto& { return api.member; }, \
      callback, SION_SUCCESS, SION_NOT_SUCCESS)

int sion_generic_register_create_local_commgroup_cb(int aid, int callback(void**, void*, int, int, int, int,
                                                                          int, int)) {
  SHEAF_REGISTER(create_local_commgroup, comm.create_group);
}
int sion_generic_register_free_local_commgroup_cb(int aid, int callback(void*)) {
  SHEAF_REGISTER(free_local_commgroup, comm.free_group);
}
int sion_generic_register_barrier_cb(int aid, int callback(void*)) { SHEAF_REGISTER(barrier, comm.barrier); }
int sion_generic_register_bcastr_cb(int aid, int callback(void*, void*, int, int, int)) {
  SHEAF_REGISTER(bcastr, comm.bcastr);
}
int sion_generic_register_gatherr_cb(int aid, int callback(void*, void*, void*, int, int, int)) {
  SHEAF_REGISTER(gatherr, comm.gatherr);
}
int sion_generic_register_gathervr_cb(int aid, int callback(void*, void*, void*, int, int*, int, int)) {
  SHEAF_REGISTER(gathervr, comm.gathervr);
}
int sion_generic_register_scatterr_cb(int aid, int callback(void*, void*, void*, int, int, int)) {
  SHEAF_REGISTER(scatterr, comm.scatterr);
}
int sion_generic_register_scattervr_cb(int aid, int callback(void*, void*, void*, int, int*, int, int)) {
  SHEAF_REGISTER(scattervr, comm.scattervr);
}
int sion_generic_register_gather_and_execute_cb(int aid, int callback(const void*, sion_int64*, int,
                                                                      sion_int64, void*, int, int, int, int,
                                                                      int(const void*, sion_int64*, int))) {
  SHEAF_REGISTER(gather_and_execute, gather_and_execute);
}
int sion_generic_register_execute_and_scatter_cb(int aid,
                                                 int callback(void*, sion_int64*, int, sion_int64, void*, int,
                                                              int, int, int, int(void*, sion_int64*, int))) {
  SHEAF_REGISTER(execute_and_scatter, execute_and_scatter);
}
int sion_generic_register_get_capability_cb(int aid, int callback(void*)) {
  SHEAF_REGISTER(get_capability, capability);
}

int sheaf_generic_register_allgather_cb(int aid, int callback(const void*, void*, void*, long long)) {
  return set(
      "sheaf_generic_register_allgather_cb", aid, [](GenericApi& api) -> auto& { return api.comm.allgather; },
      callback, SION_SUCCESS, SION_NOT_SUCCESS);
}

int sion_generic_register_get_multi_filename_cb(int aid, char* callback(const char*, int)) {
  return set(
      "sion_generic_register_get_multi_filename_cb", aid,
      [](GenericApi& api) -> auto& { return api.multi_filename; }, callback, 0, -1);
}
