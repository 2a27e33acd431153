/* SPDX-License-Identifier: MIT */
/* Tables that many trials append to: whole lines or nothing, below one header, by any number of processes at once.
 *
 * A file that holds another header, or that ends in half a line, is refused and stays as it is. Devices and pipes are
 * files too; they get a header each time. Every failure ends the process with one line and exit status 2. */
#ifndef RB_CSV_FILE_H
#define RB_CSV_FILE_H

/* Before the trial: could lines below this header be appended later? Leaves no file behind. */
void csv_file_check(const char *path, const char *header);

/* header and lines with their newlines. */
void csv_file_append(const char *path, const char *header, const char *lines);

#endif
