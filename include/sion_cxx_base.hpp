/* SION_Base: stores the arguments of the open calls and provides the information calls on an open
 * multifile. A copy of an object has the default values, not those of the original. The destructor does
 * not close the multifile. */
#ifndef SION_CXX_BASE_HPP
#define SION_CXX_BASE_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sion.h"

class SION_Base {
 public:
  SION_Base() {}
  SION_Base(const SION_Base&) {}
  ~SION_Base() { std::free(_sion_file_name); }

  /* Returns the file name, or NULL before a name is set. The object owns the string. */
  char* getSionFileName() const { return _sion_file_name; }

  /* Set and return arguments of the open calls. Chunk sizes are in bytes. */
  void setMode(std::string mode) { _mode = mode; }
  std::string getMode() const { return _mode; }
  void setNumberOfFiles(int num_files) { _num_files = num_files; }
  int getNumberOfFiles() const { return _num_files; }
  void setNumberOfTasks(int num_tasks) { _num_tasks = num_tasks; }
  int getNumberOfTasks() const { return _num_tasks; }
  void setRank(int rank) { _rank = rank; }
  int getRank() const { return _rank; }
  void setChunkSize(sion_int64 chunk_size) { _chunk_size = chunk_size; }
  sion_int64 getChunkSize() const { return _chunk_size; }

  /* Set and return arrays with an element for each task, for serial opens. The caller owns the arrays. */
  void setChunkSizes(sion_int64* chunk_sizes) { _chunk_sizes = chunk_sizes; }
  sion_int64* getChunkSizes() const { return _chunk_sizes; }
  void setGlobalRanks(int* global_ranks) { _global_ranks = global_ranks; }
  int* getGlobalRanks() const { return _global_ranks; }

  /* Set and return the block size in bytes; -1 selects that of the file system. */
  void setFileSystemBlockSize(sion_int32 fs_blk_size) { _fs_blk_size = fs_blk_size; }
  sion_int32 getFileSystemBlockSize() const { return _fs_blk_size; }

  /* Return the number of items that the last read has read, the handle, and the result of the last call. */
  int getNumberOfSuccessfulReadElements() const { return _number_of_elements_sucessfully_read; }
  int getSid() const { return _sid; }
  int getReturnCode() const { return _return_code; }

  /* Call the functions of sion_common.h on the open multifile. seek() keeps the current position. */
  void seek() { _return_code = sion_seek(_sid, SION_CURRENT_RANK, SION_CURRENT_BLK, SION_CURRENT_POS); }
  int getFileEndianness() const { return sion_get_file_endianness(_sid); }
  sion_int64 getBytesWritten() const { return sion_get_bytes_written(_sid); }
  sion_int64 getBytesRead() const { return sion_get_bytes_read(_sid); }
  sion_int64 getBytesAvailInBlock() const { return sion_bytes_avail_in_block(_sid); }
  sion_int64 getBytesAvailInChunk() const { return sion_bytes_avail_in_chunk(_sid); }
  sion_int64 getPosition() const { return sion_get_position(_sid); }

 protected:
  void setSionFileName(const std::string& name) {
    std::free(_sion_file_name);
    _sion_file_name = strdup(name.c_str());
  }

  char* _sion_file_name = NULL;
  std::string _mode;
  int _num_files = 1;
  int _num_tasks = 1;
  int _rank = 0;
  sion_int64* _chunk_sizes = NULL;
  sion_int64 _chunk_size = 0;
  sion_int32 _fs_blk_size = -1;
  int* _global_ranks = NULL;
  FILE* _file_ptr = NULL;
  int _number_of_elements_sucessfully_read = 0;
  int _return_code = 0;
  int _sid = -9999;
  int _file_endianness = 0;
  sion_int64 _bytes_written = 0;
  sion_int64 _bytes_read = 0;
  sion_int64 _bytes_avail_in_block = 0;
  sion_int64 _bytes_avail_in_chunk = 0;
  sion_int64 _position = 0;

 private:
  SION_Base& operator=(const SION_Base&);
};

#endif
