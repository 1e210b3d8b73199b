C     The entry points of FORTRAN 77 that open one rank, place and ask.
      program f77inf
      implicit none
      include 'sion_f77.h'
      integer*8 fsion_bytes_avail_in_block, fsion_get_position
      external fsion_bytes_avail_in_block, fsion_get_position
      integer ntasks, nfiles, fsblk, sid, ierr, rank, maxblk, number
      integer ranks(3), mapping(6), order, file, needed
      integer*8 chunks(3), sizes(3), rc, skip, start, at(4)
      character*30 name

      name = 'fortran_77_info.sion'
      ntasks = 3
      nfiles = 1
      fsblk = 512
      do rank = 1, 3
        chunks(rank) = 600
        ranks(rank) = 10*rank
      end do
      call fsion_open(name, 'wb', ntasks, nfiles, chunks, fsblk, ranks,
     &                sid)
      call fsion_ensure_free_space(sid, 500_8, ierr)
      if (ierr .ne. sion_success) stop 1
      call fsion_ensure_free_space(sid, 100000_8, ierr)
      if (ierr .ne. 0) stop 2
      call fsion_write(4711, 4_8, 1_8, sid, rc)
      call fsion_flush(sid, ierr)
      if (ierr .ne. sion_success) stop 3
      call fsion_seek(sid, 2, sion_current_blk, -103_8, ierr)
      call fsion_write(4712, 4_8, 1_8, sid, rc)
      call fsion_close(sid, ierr)
      if (ierr .ne. sion_success) stop 4

      rank = 2
      call fsion_open_rank(name, 'rb ', sizes(1), fsblk, rank, sid)
      if (sid .lt. 0 .or. fsblk .ne. 512) stop 5
      if (sizes(1) .lt. 600) stop 6
      if (fsion_bytes_avail_in_block(sid) .ne. 4) stop 7
      call fsion_read(number, 4_8, 1_8, sid, rc)
      if (number .ne. 4712) stop 8
      call fsion_close(sid, ierr)

      call fsion_open(name, 'rb', ntasks, nfiles, chunks, fsblk, ranks,
     &                sid)
      ierr = 7
      call fsion_get_chunksizes(sid, sizes, ierr)
      if (ierr .ne. 7 .or. sizes(3) .lt. 600) stop 9
      ranks(3) = 0
      call fsion_get_globalranks(sid, ranks, ierr)
      if (ierr .ne. 7 .or. ranks(3) .ne. 30) stop 10
      call fsion_get_mapping_spec(sid, number, nfiles, ierr)
      if (ierr .ne. 7 .or. number .ne. -1 .or. nfiles .ne. 1) stop 11
      call fsion_get_mapping(sid, mapping, ierr)
      if (ierr .ne. -1) stop 12
      call fsion_get_locations(sid, ntasks, maxblk, skip, start, at(1),
     &                         at(2), at(3), at(4), ierr)
      if (ierr .ne. sion_success .or. ntasks .ne. 3) stop 13
      if (at(1) .eq. 0 .or. at(4) .eq. 0) stop 14
      ntasks = 0
      call fsion_get_current_locations(sid, ntasks, at(1), at(2), ierr)
      if (ierr .ne. sion_success .or. ntasks .ne. 3) stop 15
      call fsion_get_fileno(sid, file)
      if (file .le. 2) stop 16
      call fsion_get_endianness(order)
      call fsion_get_file_endianness(sid, file)
      if (order .ne. file) stop 17
      order = -1
      call fsion_get_endianess(order)
      if (order .ne. file) stop 18
      file = -1
      call fsion_get_file_endianess(sid, file)
      if (order .ne. file) stop 19
      call fsion_endianness_swap_needed(sid, needed)
      if (needed .ne. 0) stop 20
      if (fsion_get_position(sid) .le. 0) stop 21
      call fsion_close(sid, ierr)
      if (ierr .ne. sion_success) stop 22

      call fsion_open('/nonexistent/directory/file', 'rb', ntasks,
     &                nfiles, chunks, fsblk, ranks, sid)
      if (sid .ne. -1) stop 23
      if (fsion_get_position(4711) .ne. -1) stop 24
      if (fsion_bytes_avail_in_block(4711) .ne. -1) stop 25
      end
