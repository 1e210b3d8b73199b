/* sionlib::serial::SIONFile: a multifile in a serial program. Calls store the result of the C call, which
 * getReturnCode() returns; the result of open is the handle. The destructor does not close the multifile. */
#ifndef SION_CXX_SERIAL_HPP
#define SION_CXX_SERIAL_HPP

#include <string>

#include "sion_cxx_base.hpp"

namespace sionlib {
namespace serial {

class SIONFile : public SION_Base {
 public:
  /* Ignores the last three arguments; use setChunkSizes, setFileSystemBlockSize and setGlobalRanks. */
  SIONFile(std::string sion_file_name, std::string mode = "wb", int num_tasks = 1, int num_files = 1,
           sion_int64* = NULL, sion_int32 = -1, int* = NULL) {
    setSionFileName(sion_file_name);
    _mode = mode;
    _num_tasks = num_tasks;
    _num_files = num_files;
  }
  SIONFile(const SIONFile&) : SION_Base() {}

  /* Calls sion_open. When reading, the library allocates the arrays that the program has not set; the
   * caller owns these arrays. */
  void open() {
    _sid = sion_open(_sion_file_name, _mode.c_str(), &_num_tasks, &_num_files, &_chunk_sizes, &_fs_blk_size,
                     &_global_ranks, &_file_ptr);
    _return_code = _sid;
  }

  /* Calls sion_open_rank for the task set with setRank. */
  void openRank() {
    _sid = sion_open_rank(_sion_file_name, _mode.c_str(), &_chunk_size, &_fs_blk_size, &_rank, &_file_ptr);
    _return_code = _sid;
  }

  /* Calls sion_close. */
  int close() {
    _return_code = sion_close(_sid);
    return _return_code;
  }

  /* Writes one object. */
  template <class T>
  void write(T data) {
    put(&data, sizeof(T), 1);
  }

  /* Writes as many bytes as the requested chunk size of the current rank. */
  template <class T>
  void write(T* data) {
    const sion_int64 bytes = _chunk_sizes ? _chunk_sizes[_rank] : _chunk_size;
    put(data, 1, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }

  /* Writes `length` items of `unit` bytes from data.data(). */
  template <class T>
  void write(T data, int unit, int length) {
    put(data.data(), static_cast<size_t>(unit), static_cast<size_t>(length));
  }

  /* Reads sizeof(T) bytes. The return code is the number of bytes read. */
  template <class T>
  void read(T* data) {
    get(data, 1, sizeof(T));
  }

  /* Reads up to `length` items of `unit` bytes. */
  template <class T>
  void read(T* data, int unit, int length) {
    get(data, static_cast<size_t>(unit), static_cast<size_t>(length));
  }

  /* Writes one object. */
  template <class T>
  SIONFile& operator<<(const T& data) {
    put(&data, sizeof(T), 1);
    return *this;
  }

 private:
  void put(const void* data, size_t size, size_t nitems) {
    _return_code = static_cast<int>(sion_fwrite(data, size, nitems, _sid));
  }
  void get(void* data, size_t size, size_t nitems) {
    _return_code = static_cast<int>(sion_fread(data, size, nitems, _sid));
    _number_of_elements_sucessfully_read = _return_code;
  }
};

}  // namespace serial
}  // namespace sionlib

#endif
