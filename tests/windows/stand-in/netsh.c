/*
 * A stand-in for netsh, for Windows (mingw) and for POSIX. It knows one interface and the lines that Fairlead uses:
 *
 *   netsh interface ipv4|ipv6 show|add|delete address name=|interface=IF [address=IP[/128] ...]
 *
 * FAIRLEAD_NETSH_FOLDER names a folder, and everything is a file in it:
 *
 *   interface        the name of the interface; without this file there is none
 *   has-IP           an address of the interface (colons are written as "-")
 *   elsewhere-IP     an address of another interface
 *   denied           if it is there: the user is no administrator
 *   calls.log        one line for each call, arguments separated by tabs
 *
 * An address is one file, so that several calls at the same time do not disturb each other.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static const char *file_of(const char *kind, const char *ip) {
  static char path[1024];
  int length = snprintf(path, sizeof path, "%s/%s%s", folder, kind, ip);
  if (length < 0 || (size_t)length >= sizeof path) exit(1);
  for (char *at = path + strlen(folder) + 1; *at != '\0'; at++)
    if (*at == ':') *at = '-';
  return path;
}

static int exists(const char *kind, const char *ip) {
  return access(file_of(kind, ip), 0) == 0;
}

static void log_call(int argc, char **argv) {
  char line[2048] = "";
  for (int i = 1; i < argc; i++) {
    strncat(line, argv[i], sizeof line - strlen(line) - 2);
    strcat(line, i + 1 < argc ? "\t" : "\n");
  }
  FILE *log = fopen(file_of("calls.log", ""), "ab");
  if (log == NULL) exit(1);
  fputs(line, log);
  fclose(log);
}

/* The value of the argument "key=value". */
static const char *value_of(const char *key, int argc, char **argv) {
  size_t length = strlen(key);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], key, length) == 0 && argv[i][length] == '=') return argv[i] + length + 1;
  return NULL;
}

static int fail(const char *complaint) {
  printf("%s\r\n\r\n", complaint);
  return 1;
}

static int is_interface(const char *name) {
  char known[256] = "";
  FILE *file = fopen(file_of("interface", ""), "rb");
  if (file == NULL || name == NULL) return 0;
  if (fgets(known, sizeof known, file) != NULL) known[strcspn(known, "\r\n")] = '\0';
  fclose(file);
  return strcmp(known, name) == 0;
}

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int show(const char *name, int is_v6) {
  char *ips[4096];
  size_t count = 0;
  DIR *files = opendir(folder);
  if (files == NULL) return 1;
  for (struct dirent *file; (file = readdir(files)) != NULL && count < 4096;)
    if (strncmp(file->d_name, "has-", 4) == 0 && (strchr(file->d_name + 4, '-') != NULL) == is_v6)
      ips[count++] = strdup(file->d_name + 4);
  closedir(files);
  qsort(ips, count, sizeof ips[0], compare);
  if (is_v6)
    printf("\r\nInterface 12: %s\r\n\r\nAddr Type  DAD State   Valid Life Pref. Life Address\r\n", name);
  else
    printf("\r\nConfiguration for interface \"%s\"\r\n    DHCP enabled:                         No\r\n", name);
  for (size_t i = 0; i < count; i++) {
    for (char *at = ips[i]; *at != '\0'; at++)
      if (*at == '-') *at = ':';
    if (is_v6) {
      printf("Manual     Preferred     infinite   infinite %s\r\n", ips[i]);
      continue;
    }
    printf("    IP Address:                           %s\r\n", ips[i]);
    printf("    Subnet Prefix:                        %s/32 (mask 255.255.255.255)\r\n", ips[i]);
  }
  printf("    InterfaceMetric:                      5000\r\n\r\n");
  return 0;
}

static int add(const char *ip) {
  if (exists("elsewhere-", ip)) return fail("The object already exists.");
  int file = open(file_of("has-", ip), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file < 0) return fail(errno == EEXIST ? "The object already exists." : strerror(errno));
  close(file);
  return 0;
}

int main(int argc, char **argv) {
  folder = getenv("FAIRLEAD_NETSH_FOLDER");
  if (folder == NULL) return fail("FAIRLEAD_NETSH_FOLDER is not set.");
  log_call(argc, argv);
  if (argc < 6 || strcmp(argv[1], "interface") != 0 || strcmp(argv[4], "address") != 0)
    return fail("The following command was not found.");
  int is_v6 = strcmp(argv[2], "ipv6") == 0;
  const char *action = argv[3];
  int is_show = strcmp(action, "show") == 0;
  if (!is_show && exists("denied", ""))
    return fail("The requested operation requires elevation (Run as administrator).");
  const char *name = value_of(is_v6 ? "interface" : "name", argc, argv);
  if (!is_interface(name)) return fail("The filename, directory name, or volume label syntax is incorrect.");
  if (is_show) return show(name, is_v6);
  const char *address = value_of("address", argc, argv);
  if (address == NULL) return fail("The parameter is incorrect.");
  char ip[64] = "";
  strncat(ip, address, sizeof ip - 1);
  ip[strcspn(ip, "/")] = '\0';
  if (strcmp(action, "add") == 0) return add(ip);
  if (strcmp(action, "delete") == 0)
    return unlink(file_of("has-", ip)) == 0 ? 0 : fail("Element not found.");
  return fail("The following command was not found.");
}
