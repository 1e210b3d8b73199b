/* sionlib::mpi::SIONFile: a multifile in an MPI program; include <mpi.h> first. Calls store their result,
 * which getReturnCode() returns; the result of open is the handle. open, close, and the forms of write
 * and read for several items are collective. The destructor does not close the multifile. */
#ifndef SION_CXX_MPI_HPP
#define SION_CXX_MPI_HPP

#ifdef MPI_VERSION

#include <cstdlib>
#include <iostream>
#include <string>

#include "sion_cxx_base.hpp"

namespace sionlib {
namespace mpi {

class SIONFile : public SION_Base {
 public:
  SIONFile() {
    std::cerr << "At least name has to be given" << std::endl;
    std::exit(1);
  }
  SIONFile(std::string sion_file_name, std::string mode = "bw", int num_files = 1, int global_rank = 0,
           MPI_Comm gComm = MPI_COMM_WORLD, MPI_Comm lComm = MPI_COMM_WORLD)
      : _new_sion_file_name(NULL), _g_comm(gComm), _l_comm(lComm), _global_rank(global_rank) {
    setSionFileName(sion_file_name);
    _mode = mode;
    _num_files = num_files;
    _chunk_size = 2097152;
  }
  SIONFile(const SIONFile&)
      : SION_Base(),
        _new_sion_file_name(NULL),
        _g_comm(MPI_COMM_WORLD),
        _l_comm(MPI_COMM_WORLD),
        _global_rank(0) {}
  virtual ~SIONFile() { std::free(_new_sion_file_name); }

  /* Returns the name of the physical file of this task after the open. The object owns the string. */
  char* getNewSionFileName() const { return _new_sion_file_name; }

  void setLocalCommunicator(MPI_Comm lComm) { _l_comm = lComm; }
  MPI_Comm getLocalCommunicator() const { return _l_comm; }
  void setGlobalCommunicator(MPI_Comm gComm) { _g_comm = gComm; }
  MPI_Comm getGlobalCommunicator() const { return _g_comm; }
  void setGlobalRank(int global_rank) { _global_rank = global_rank; }
  int getGlobalRank() const { return _global_rank; }

  /* Calls sion_paropen_mpi. Collective over the global communicator. */
  void open() {
    std::free(_new_sion_file_name);
    _new_sion_file_name = NULL;
    _sid = sion_paropen_mpi(_sion_file_name, _mode.c_str(), &_num_files, _g_comm, &_l_comm, &_chunk_size,
                            &_fs_blk_size, &_global_rank, &_file_ptr, &_new_sion_file_name);
    _return_code = _sid;
  }
  /* Calls sion_parclose_mpi. Collective. */
  void close() { _return_code = sion_parclose_mpi(_sid); }

  /* Writes one object to the stream of this task. */
  template <class T>
  void write(T data) {
    put(&data, sizeof(T));
  }

  /* Writes `length` items of `unit` bytes from data.data(). Collective. */
  template <class T>
  void write(T& data, int unit, int length) {
    _return_code = static_cast<int>(
        sion_coll_fwrite_mpi(data.data(), static_cast<size_t>(unit), static_cast<size_t>(length), _sid));
  }

  /* Reads one object from the stream of this task. */
  template <class T>
  void read(T* data) {
    get(data, sizeof(T));
  }

  /* Reads `length` items of `unit` bytes into `data`. Collective. */
  template <class T>
  void read(T* data, int unit, int length) {
    _return_code = static_cast<int>(
        sion_coll_fread_mpi(data, static_cast<size_t>(unit), static_cast<size_t>(length), _sid));
    _number_of_elements_sucessfully_read = _return_code;
  }

  /* Write and read one object. */
  template <class T>
  SIONFile& operator<<(const T& data) {
    put(&data, sizeof(T));
    return *this;
  }
  template <class T>
  SIONFile& operator>>(T& data) {
    get(&data, sizeof(T));
    return *this;
  }

  /* Call sion_ensure_free_space and sion_feof. */
  void ensureFreeSpace(long bytes) { _return_code = sion_ensure_free_space(_sid, bytes); }
  void endOfFile() { _return_code = sion_feof(_sid); }

 private:
  void put(const void* data, size_t size) {
    _return_code = static_cast<int>(sion_fwrite(data, size, 1, _sid));
  }
  void get(void* data, size_t size) {
    _return_code = static_cast<int>(sion_fread(data, size, 1, _sid));
    _number_of_elements_sucessfully_read = _return_code;
  }

  char* _new_sion_file_name;
  MPI_Comm _g_comm;
  MPI_Comm _l_comm;
  int _global_rank;
};

}  // namespace mpi
}  // namespace sionlib

#endif
#endif
