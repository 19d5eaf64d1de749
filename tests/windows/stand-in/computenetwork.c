/*
 * A stand-in for computenetwork.dll and vmcompute.dll: the functions that Fairlead calls, on objects that it keeps in a file. It
 * shows that texts, GUIDs, handles, error records and memory cross the border unharmed. How HNS decides is shown by the HNS in
 * memory (src/dataplane/hcn/memory); the rules here are those of src/dataplane/hcn/driver.contract.ts, and no more.
 *
 *   npx tsx tests/windows/stand-in/build.ts windows FOLDER     (with mingw-w64)
 *   npx tsx tests/windows/stand-in/build.ts here FOLDER        (with cc)
 *
 * STAND_IN_FOLDER in the environment (or StandInUse, in a process that has several of them) names a folder with these files:
 *   state     a line for each object: Network {"ID":"...","Name":"pod-net"}; read anew with each call
 *   log       gets a line for each call: function, arguments, code, and what is lent and not given back
 *   faults    what shall fail: HcnOpenEndpoint 0x80070005 record (0x80070005+ does it nevertheless);
 *             or HcnDeleteEndpoint wait 200 (milliseconds)
 *   version   of HNS: 15.5 if there is none; older ones cannot change load balancers
 *
 * computenetwork.dll and vmcompute.dll in system32 of a Wine prefix serve the daemon. A test that loads the library itself can ask
 * StandInLentTexts, StandInOpenHandles and StandInMostCallsAtOnce. Elsewhere than on Windows it has CoTaskMemFree as well.
 */
#include "json.h"

#ifdef _WIN32
#include <errno.h>
#include <windows.h>
#include <objbase.h>
#define EXPORT __declspec(dllexport)
#define CALL WINAPI
#else
#include <strings.h>
#include <time.h>
#include <unistd.h>
#define EXPORT __attribute__((visibility("default")))
#define CALL
#endif

typedef uint16_t unit16;
typedef struct {
  uint32_t data1;
  uint16_t data2, data3;
  uint8_t data4[8];
} guid;

enum {
  OK = 0,
  NOT_IMPLEMENTED = (int32_t)0x80004001,
  ALREADY_EXISTS = (int32_t)0x800700b7,
  NOT_FOUND = (int32_t)0x80070490,
  PORT_ALREADY_EXISTS = (int32_t)0x803b0013,
  INVALID_JSON = (int32_t)0x803b001b
};

/* ---- What is lent: texts that the caller frees, and handles that it closes. ---- */

static int32_t lent_texts, open_handles, calls_under_way, most_calls_at_once;

/* Texts that the caller has not freed. Whoever frees one may be on another thread. */
static struct lent {
  struct lent *next;
  void *text;
} *all_lent;
static int lent_lock;

static void lock_lent(void) {
  while (__sync_lock_test_and_set(&lent_lock, 1)) {
  }
}

static void note_lent(void *text) {
  struct lent *it = malloc(sizeof(*it));
  lock_lent();
  it->text = text;
  it->next = all_lent;
  all_lent = it;
  lent_texts++;
  __sync_lock_release(&lent_lock);
}

/* Memory of others is freed, too; only ours counts. */
static void note_freed(void *text) {
  lock_lent();
  for (struct lent **it = &all_lent; *it != NULL; it = &(*it)->next) {
    if ((*it)->text != text) continue;
    struct lent *gone = *it;
    *it = gone->next;
    free(gone);
    lent_texts--;
    break;
  }
  __sync_lock_release(&lent_lock);
}

#ifdef _WIN32
#include "malloc-spy.h"
static void *allocate(size_t size) {
  static int is_watching;
  if (!is_watching) is_watching = 1, watch_frees();
  return CoTaskMemAlloc(size);
}
#else
#define allocate malloc
EXPORT void CoTaskMemFree(void *text) {
  note_freed(text);
  free(text);
}
#endif

static void *lend(size_t size) {
  void *text = allocate(size);
  note_lent(text);
  return text;
}

EXPORT int32_t CALL StandInLentTexts(void) { return lent_texts; }
EXPORT int32_t CALL StandInOpenHandles(void) { return open_handles; }
EXPORT int32_t CALL StandInMostCallsAtOnce(void) { return most_calls_at_once; }

static unit16 *lend_utf16(const char *text) {
  unit16 *result = lend(2 * (strlen(text) + 1)), *to = result;
  for (const uint8_t *p = (const uint8_t *)text; *p != 0;) {
    int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    uint32_t c = more == 0 ? *p : *p & (0x3f >> more);
    for (p++; more > 0; more--) c = c << 6 | (*p++ & 0x3f);
    if (c >= 0x10000) *to++ = (unit16)(0xd800 + ((c - 0x10000) >> 10));
    *to++ = (unit16)(c >= 0x10000 ? 0xdc00 + ((c - 0x10000) & 0x3ff) : c);
  }
  *to = 0;
  return result;
}

static char *utf8_of(const unit16 *text) {
  size_t length = 0;
  while (text != NULL && text[length] != 0) length++;
  char *result = malloc(3 * length + 1), *to = result;
  for (size_t i = 0; i < length; i++) {
    uint32_t c = text[i];
    if ((c & 0xfc00) == 0xd800) c = 0x10000 + ((c & 0x3ff) << 10) + (text[++i] & 0x3ff);
    to += put_utf8(to, c);
  }
  *to = '\0';
  return result;
}

static void guid_text(const guid *id, char *text) {
  const uint8_t *d = id->data4;
  sprintf(text, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", (unsigned)id->data1, id->data2, id->data3, d[0], d[1],
          d[2], d[3], d[4], d[5], d[6], d[7]);
}

/* ---- The folder of the test. ---- */

static char folder[1024];

EXPORT void CALL StandInUse(const unit16 *path) {
  char *text = utf8_of(path);
  snprintf(folder, sizeof(folder), "%s", text);
  free(text);
}

/* Opens a file of it, or NULL. */
static FILE *open_file(const char *name, const char *mode) {
  char path[1100];
#ifdef _WIN32
  /* Not getenv: the C library has a copy of the environment that Node.js does not change. */
  if (folder[0] == '\0') GetEnvironmentVariableA("STAND_IN_FOLDER", folder, sizeof(folder));
#else
  if (folder[0] == '\0' && getenv("STAND_IN_FOLDER") != NULL)
    snprintf(folder, sizeof(folder), "%s", getenv("STAND_IN_FOLDER"));
#endif
  if (folder[0] == '\0') return NULL;
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *file = fopen(path, mode);
#ifdef _WIN32
  /* Under Wine a file that was just closed may still count as open for a moment. */
  for (int tries = 0; file == NULL && errno == EACCES && tries < 100; tries++) {
    Sleep(20);
    file = fopen(path, mode);
  }
#endif
  return file;
}

static char *read_file(const char *name) {
  FILE *file = open_file(name, "rb");
  if (file == NULL) return calloc(1, 1);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  char *text = calloc(size + 1, 1);
  fseek(file, 0, SEEK_SET);
  if (fread(text, 1, size, file) != size) text[0] = '\0';
  fclose(file);
  return text;
}

/* ---- The objects: one line for each in the file of the state, `Endpoint {"ID":…}`. ---- */

typedef struct object {
  struct object *next;
  char kind[16];
  char *document;
} object;

static object *objects;

static part whole(const char *text) {
  part all = {text, strlen(text)};
  return all;
}

static int has_text(part value, const char *text) {
  char *found = text_in(value);
#ifdef _WIN32
  int is_same = _stricmp(found, text) == 0;
#else
  int is_same = strcasecmp(found, text) == 0;
#endif
  free(found);
  return is_same;
}

static object *find(const char *kind, const char *id) {
  for (object *it = objects; it != NULL; it = it->next)
    if (strcmp(it->kind, kind) == 0 && has_text(member(whole(it->document), "ID"), id)) return it;
  return NULL;
}

static object *add(const char *kind, char *document) {
  object **end = &objects;
  while (*end != NULL) end = &(*end)->next;
  *end = calloc(1, sizeof(object));
  snprintf((*end)->kind, sizeof((*end)->kind), "%s", kind);
  (*end)->document = document;
  return *end;
}

static void forget(object *gone) {
  for (object **it = &objects; *it != NULL; it = &(*it)->next) {
    if (*it != gone) continue;
    *it = gone->next;
    free(gone->document);
    free(gone);
    return;
  }
}

/* Read anew for each call, so that a test can change it, and other processes see the same. */
static void load_state(void) {
  while (objects != NULL) forget(objects);
  char *text = read_file("state");
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *space = strchr(line, ' ');
    if (space == NULL) continue;
    *space = '\0';
    add(line, copy_part(whole(space + 1)));
  }
  free(text);
}

static void save_state(void) {
  FILE *file = open_file("state.new", "wb");
  if (file == NULL) return;
  for (object *it = objects; it != NULL; it = it->next) fprintf(file, "%s %s\n", it->kind, it->document);
  fclose(file);
  char from[1100], to[1100];
  snprintf(from, sizeof(from), "%s/state.new", folder);
  snprintf(to, sizeof(to), "%s/state", folder);
#ifdef _WIN32
  MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING);
#else
  rename(from, to);
#endif
}

/* The settings of an object with its id in front. */
static char *with_id(const char *id, const char *settings) {
  const char *rest = skip_space(skip_space(settings) + 1);
  char *document = malloc(strlen(rest) + 64);
  sprintf(document, "{\"ID\":\"%s\"%s%s", id, *rest == '}' ? "" : ",", rest);
  return document;
}

static int is_object(const char *text) {
  const char *begin = skip_space(text), *end = skip_value(begin);
  return *begin == '{' && end != NULL && *skip_space(end) == '\0';
}

/* ---- One call: it is written down, and may be told to fail. ---- */

typedef struct {
  const char *name;
  unit16 **error_record;
  /* A failure beside what was done. */
  int32_t failure;
} call;

static void log_line(const char *name, const char *arguments, int32_t code) {
  FILE *file = open_file("log", "ab");
  if (file == NULL) return;
  fprintf(file, "%s %s -> 0x%08x, %d texts and %d handles lent\n", name, arguments, (unsigned)code, lent_texts,
          open_handles);
  fclose(file);
}

static const char *text_of(int32_t code) {
  switch (code) {
    case NOT_IMPLEMENTED: return "Not implemented";
    case ALREADY_EXISTS: return "Cannot create a file when that file already exists.";
    case NOT_FOUND: return "Element not found.";
    case PORT_ALREADY_EXISTS: return "The specified port already exists.";
    case INVALID_JSON: return "Invalid JSON document string.";
    default: return "Unknown error.";
  }
}

static void write_record(unit16 **to, int32_t code) {
  char record[256];
  snprintf(record, sizeof(record), "{\"Success\":false,\"Error\":\"%s \",\"ErrorCode\":%u}", text_of(code), (unsigned)code);
  if (to != NULL) *to = lend_utf16(record);
}

/* Lines of the file of faults: `HcnOpenEndpoint 0x80070005 record`, or `HcnDeleteEndpoint wait 200`. Whether one was found. */
static int planned_fault(call *it, int32_t *code) {
  int is_found = 0;
  char *text = read_file("faults");
  for (char *line = strtok(text, "\n"); line != NULL && !is_found; line = strtok(NULL, "\n")) {
    size_t length = strcspn(line, " ");
    if (strncmp(line, it->name, length) != 0 || it->name[length] != '\0' || line[length] == '\0') continue;
    char *rest = line + length + 1;
    if (strncmp(rest, "wait ", 5) == 0) {
      long ms = strtol(rest + 5, NULL, 10);
#ifdef _WIN32
      Sleep((DWORD)ms);
#else
      usleep((useconds_t)ms * 1000);
#endif
      continue;
    }
    *code = (int32_t)strtoul(rest, &rest, 16);
    is_found = *rest != '+';
    if (!is_found) it->failure = *code, *code = OK, rest++;
    if (*rest == ' ' && it->error_record != NULL) *it->error_record = lend_utf16(rest + 1);
  }
  free(text);
  return is_found;
}

static int begin(call *it, int32_t *code) {
  int32_t at_once = __sync_add_and_fetch(&calls_under_way, 1);
  if (at_once > most_calls_at_once) most_calls_at_once = at_once;
  *code = OK;
  if (planned_fault(it, code)) return 0;
  load_state();
  return 1;
}

static int32_t end(call *it, const char *arguments, int32_t code) {
  if (code == OK) code = it->failure;
  if (code < 0 && it->error_record != NULL && *it->error_record == NULL) write_record(it->error_record, code);
  log_line(it->name, arguments, code);
  __sync_fetch_and_sub(&calls_under_way, 1);
  return code;
}

/* ---- Listing, opening, reading, deleting: the same for every kind. ---- */

static int is_wanted(object *it, part filter) {
  static const char *keys[][2] = {{"ID", "ID"}, {"Name", "Name"}, {"VirtualNetwork", "HostComputeNetwork"}};
  for (int i = 0; i < 3; i++) {
    part wanted = member(filter, keys[i][0]);
    if (wanted.at == NULL) continue;
    char *text = text_in(wanted);
    int is_same = has_text(member(whole(it->document), keys[i][1]), text);
    free(text);
    if (!is_same) return 0;
  }
  return 1;
}

static int32_t enumerate(const char *name, const char *kind, const unit16 *query, unit16 **ids, unit16 **error_record) {
  call it = {name, error_record, OK};
  char *text = utf8_of(query);
  int32_t code;
  if (begin(&it, &code)) {
    char *filter = text_in(member(whole(text), "Filter"));
    size_t count = 0;
    for (object *each = objects; each != NULL; each = each->next) count++;
    char *list = calloc(count * 40 + 3, 1), *to = list;
    *to++ = '[';
    for (object *each = objects; each != NULL; each = each->next) {
      if (strcmp(each->kind, kind) != 0 || !is_wanted(each, whole(filter))) continue;
      part id = member(whole(each->document), "ID");
      if (to[-1] != '[') *to++ = ',';
      memcpy(to, id.at, id.length);
      to += id.length;
    }
    *to = ']';
    *ids = lend_utf16(list);
    free(list);
    free(filter);
  }
  code = end(&it, text, code);
  free(text);
  return code;
}

typedef struct {
  char kind[16];
  char id[37];
} handle;

static handle *new_handle(const char *kind, const char *id) {
  handle *made = calloc(1, sizeof(handle));
  snprintf(made->kind, sizeof(made->kind), "%s", kind);
  snprintf(made->id, sizeof(made->id), "%s", id);
  __sync_fetch_and_add(&open_handles, 1);
  return made;
}

static int32_t open_object(const char *name, const char *kind, const guid *id, void **opened, unit16 **error_record) {
  call it = {name, error_record, OK};
  char text[37];
  int32_t code;
  guid_text(id, text);
  if (begin(&it, &code)) {
    if (find(kind, text) == NULL) code = NOT_FOUND;
    else *opened = new_handle(kind, text);
  }
  return end(&it, text, code);
}

static int32_t query_object(const char *name, void *opened, unit16 **properties, unit16 **error_record) {
  call it = {name, error_record, OK};
  handle *of = opened;
  int32_t code;
  if (begin(&it, &code)) {
    object *found = find(of->kind, of->id);
    if (found == NULL) code = NOT_FOUND;
    else *properties = lend_utf16(found->document);
  }
  return end(&it, of->id, code);
}

static int32_t close_object(const char *name, void *opened) {
  handle *of = opened;
  log_line(name, of->id, OK);
  free(of);
  __sync_fetch_and_sub(&open_handles, 1);
  return OK;
}

static int32_t delete_object(const char *name, const char *kind, const guid *id, unit16 **error_record) {
  call it = {name, error_record, OK};
  char text[37];
  int32_t code;
  guid_text(id, text);
  if (begin(&it, &code)) {
    object *found = find(kind, text);
    if (found == NULL) code = NOT_FOUND;
    else forget(found), save_state();
  }
  return end(&it, text, code);
}

/* ---- Creating and changing. ---- */

static void choose_id(const guid *wanted, char *text) {
  guid id = *wanted;
  static const guid zero;
  if (memcmp(&id, &zero, sizeof(id)) == 0) {
#ifdef _WIN32
    /* Not rand: calls come from several threads, and each would begin with the same numbers. */
    CoCreateGuid((GUID *)&id);
#else
    static int is_seeded;
    if (!is_seeded) srand((unsigned)time(NULL) ^ (unsigned)getpid());
    is_seeded = 1;
    for (size_t i = 0; i < sizeof(id); i++) ((uint8_t *)&id)[i] = (uint8_t)(rand() >> 4);
    id.data3 = (uint16_t)((id.data3 & 0x0fff) | 0x4000);
    id.data4[0] = (uint8_t)((id.data4[0] & 0x3f) | 0x80);
#endif
  }
  guid_text(&id, text);
}

static int32_t create(const char *kind, const guid *wanted, const char *settings, void **made) {
  char id[37];
  if (!is_object(settings)) return INVALID_JSON;
  choose_id(wanted, id);
  add(kind, with_id(id, settings));
  save_state();
  *made = new_handle(kind, id);
  return OK;
}

static long family_flag(part balancer) { return number_in(member(balancer, "Flags")) & 2; }

/* Whether two load balancers want the same address, protocol and port. */
static int is_same_frontend(part a, part b) {
  part first = first_item(member(a, "PortMappings")), second = first_item(member(b, "PortMappings"));
  char *vip = text_in(first_item(member(a, "FrontendVIPs")));
  int is_same = has_text(first_item(member(b, "FrontendVIPs")), vip) && family_flag(a) == family_flag(b) &&
                number_in(member(first, "Protocol")) == number_in(member(second, "Protocol")) &&
                number_in(member(first, "ExternalPort")) == number_in(member(second, "ExternalPort"));
  free(vip);
  return is_same;
}

static int32_t check_load_balancer(const char *settings, object *itself) {
  if (!is_object(settings)) return INVALID_JSON;
  const char *next = NULL;
  part ids = member(whole(settings), "HostComputeEndpoints");
  for (part id = next_item(ids, &next); id.at != NULL; id = next_item(ids, &next)) {
    char *text = text_in(id);
    object *found = find("Endpoint", text);
    free(text);
    if (found == NULL) return NOT_FOUND;
  }
  for (object *other = objects; other != NULL; other = other->next) {
    if (other == itself || strcmp(other->kind, "LoadBalancer") != 0) continue;
    if (!is_same_frontend(whole(other->document), whole(settings))) continue;
    char *id = text_in(member(whole(other->document), "ID")), *same = with_id(id, settings);
    int is_identical = strcmp(same, other->document) == 0;
    free(id);
    free(same);
    return is_identical ? ALREADY_EXISTS : PORT_ALREADY_EXISTS;
  }
  return OK;
}

static void version(int *major, int *minor) {
  char *text = read_file("version");
  if (sscanf(text, "%d.%d", major, minor) != 2) *major = 15, *minor = 5;
  free(text);
}

/* ---- The exports. ---- */

#define KIND(Kind)                                                                                                       \
  EXPORT int32_t CALL HcnEnumerate##Kind##s(const unit16 *query, unit16 **ids, unit16 **error_record) {                  \
    return enumerate("HcnEnumerate" #Kind "s", #Kind, query, ids, error_record);                                        \
  }                                                                                                                      \
  EXPORT int32_t CALL HcnOpen##Kind(const guid *id, void **opened, unit16 **error_record) {                              \
    return open_object("HcnOpen" #Kind, #Kind, id, opened, error_record);                                               \
  }                                                                                                                      \
  EXPORT int32_t CALL HcnQuery##Kind##Properties(void *opened, const unit16 *query, unit16 **properties,                 \
                                                 unit16 **error_record) {                                               \
    (void)query;                                                                                                         \
    return query_object("HcnQuery" #Kind "Properties", opened, properties, error_record);                               \
  }                                                                                                                      \
  EXPORT int32_t CALL HcnClose##Kind(void *opened) { return close_object("HcnClose" #Kind, opened); }

KIND(Network)
KIND(Endpoint)
KIND(LoadBalancer)

EXPORT int32_t CALL HcnDeleteEndpoint(const guid *id, unit16 **error_record) {
  return delete_object("HcnDeleteEndpoint", "Endpoint", id, error_record);
}

EXPORT int32_t CALL HcnDeleteLoadBalancer(const guid *id, unit16 **error_record) {
  return delete_object("HcnDeleteLoadBalancer", "LoadBalancer", id, error_record);
}

EXPORT int32_t CALL HcnCreateEndpoint(void *network, const guid *id, const unit16 *settings, void **made,
                                      unit16 **error_record) {
  call it = {"HcnCreateEndpoint", error_record, OK};
  handle *of = network;
  char *text = utf8_of(settings);
  int32_t code;
  if (begin(&it, &code)) code = find(of->kind, of->id) == NULL ? NOT_FOUND : create("Endpoint", id, text, made);
  code = end(&it, text, code);
  free(text);
  return code;
}

EXPORT int32_t CALL HcnCreateLoadBalancer(const guid *id, const unit16 *settings, void **made, unit16 **error_record) {
  call it = {"HcnCreateLoadBalancer", error_record, OK};
  char *text = utf8_of(settings);
  int32_t code;
  if (begin(&it, &code)) {
    code = check_load_balancer(text, NULL);
    if (code == OK) code = create("LoadBalancer", id, text, made);
  }
  code = end(&it, text, code);
  free(text);
  return code;
}

#ifndef WITHOUT_MODIFY
EXPORT int32_t CALL HcnModifyLoadBalancer(void *opened, const unit16 *settings, unit16 **error_record) {
  call it = {"HcnModifyLoadBalancer", error_record, OK};
  handle *of = opened;
  char *text = utf8_of(settings);
  int32_t code;
  if (begin(&it, &code)) {
    int major, minor;
    version(&major, &minor);
    object *found = find(of->kind, of->id);
    code = major * 100 + minor < 1505 ? NOT_IMPLEMENTED : found == NULL ? NOT_FOUND : check_load_balancer(text, found);
    if (code == OK) {
      char *document = with_id(of->id, text);
      free(found->document);
      found->document = document;
      save_state();
    }
  }
  code = end(&it, text, code);
  free(text);
  return code;
}
#endif

/* ---- The old API. ---- */

/* Makes room for the text, and appends it. */
static void append(char **list, size_t *length, const char *text) {
  size_t more = strlen(text);
  *list = realloc(*list, *length + more + 1);
  memcpy(*list + *length, text, more + 1);
  *length += more;
}

static void append_member(char **list, size_t *length, const char *name, part value) {
  if (value.at == NULL) return;
  char *text = copy_part(value);
  append(list, length, ",\"");
  append(list, length, name);
  append(list, length, "\":");
  append(list, length, text);
  free(text);
}

static void append_policy_list(char **list, size_t *length, part balancer) {
  const char *next = NULL, *comma = "";
  part mapping = first_item(member(balancer, "PortMappings")), ids = member(balancer, "HostComputeEndpoints");
  char *id = text_in(member(balancer, "ID"));
  append(list, length, "{\"ID\":\"");
  append(list, length, id);
  append(list, length, "\",\"References\":[");
  free(id);
  for (part each = next_item(ids, &next); each.at != NULL; each = next_item(ids, &next)) {
    char *endpoint = text_in(each);
    append(list, length, comma);
    append(list, length, "\"/endpoints/");
    append(list, length, endpoint);
    append(list, length, "\"");
    free(endpoint);
    comma = ",";
  }
  append(list, length, "],\"Policies\":[{\"Type\":\"ELB\"");
  append_member(list, length, "Protocol", member(mapping, "Protocol"));
  append_member(list, length, "InternalPort", member(mapping, "InternalPort"));
  append_member(list, length, "ExternalPort", member(mapping, "ExternalPort"));
  append_member(list, length, "VIPs", member(balancer, "FrontendVIPs"));
  append_member(list, length, "SourceVIP", member(balancer, "SourceVIP"));
  append(list, length, number_in(member(balancer, "Flags")) & 1 ? ",\"IsDSR\":true}]" : "}]");
  append(list, length, ",\"State\":2}");
}

EXPORT int32_t CALL HNSCall(const unit16 *method, const unit16 *path, const unit16 *request, unit16 **response) {
  call it = {"HNSCall", NULL, OK};
  char *verb = utf8_of(method), *what = utf8_of(path), *list = NULL;
  size_t length = 0;
  int32_t code;
  (void)request;
  if (begin(&it, &code)) {
    int is_read = strcmp(verb, "GET") == 0;
    if (is_read && strcmp(what, "/globals/version") == 0) {
      char output[128];
      int major, minor;
      version(&major, &minor);
      sprintf(output, "{\"Success\":true,\"Output\":{\"Major\":%d,\"Minor\":%d}}", major, minor);
      *response = lend_utf16(output);
    } else if (is_read && strcmp(what, "/policylists/") == 0) {
      append(&list, &length, "{\"Success\":true,\"Output\":[");
      for (object *each = objects; each != NULL; each = each->next) {
        if (strcmp(each->kind, "LoadBalancer") != 0) continue;
        if (list[length - 1] != '[') append(&list, &length, ",");
        append_policy_list(&list, &length, whole(each->document));
      }
      append(&list, &length, "]}");
      *response = lend_utf16(list);
    } else {
      write_record(response, NOT_FOUND);
    }
  }
  code = end(&it, what, code);
  free(verb);
  free(what);
  free(list);
  return code;
}
