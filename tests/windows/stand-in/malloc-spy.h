/* Windows tells a spy about every text that is freed with CoTaskMemFree, by whomever. */
#ifndef STAND_IN_MALLOC_SPY_H
#define STAND_IN_MALLOC_SPY_H

static HRESULT WINAPI spy_query(IMallocSpy *spy, REFIID id, void **result) {
  (void)id;
  *result = spy;
  return S_OK;
}
static ULONG WINAPI spy_count(IMallocSpy *spy) { return (void)spy, 1; }
static SIZE_T WINAPI spy_pre_alloc(IMallocSpy *spy, SIZE_T size) { return (void)spy, size; }
static void *WINAPI spy_post_alloc(IMallocSpy *spy, void *memory) { return (void)spy, memory; }
static void *WINAPI spy_pre_free(IMallocSpy *spy, void *memory, WINBOOL is_spied) {
  (void)spy, (void)is_spied;
  note_freed(memory);
  return memory;
}
static void WINAPI spy_post_free(IMallocSpy *spy, WINBOOL is_spied) { (void)spy, (void)is_spied; }
static SIZE_T WINAPI spy_pre_realloc(IMallocSpy *spy, void *memory, SIZE_T size, void **result, WINBOOL is_spied) {
  (void)spy, (void)is_spied;
  *result = memory;
  return size;
}
static void *WINAPI spy_pass(IMallocSpy *spy, void *memory, WINBOOL is_spied) {
  return (void)spy, (void)is_spied, memory;
}
static SIZE_T WINAPI spy_post_size(IMallocSpy *spy, SIZE_T size, WINBOOL is_spied) {
  return (void)spy, (void)is_spied, size;
}
static int WINAPI spy_post_did_alloc(IMallocSpy *spy, void *memory, WINBOOL is_spied, int answer) {
  return (void)spy, (void)memory, (void)is_spied, answer;
}
static void WINAPI spy_nothing(IMallocSpy *spy) { (void)spy; }

static IMallocSpyVtbl spy_functions = {
    spy_query,       spy_count, spy_count,     spy_pre_alloc, spy_post_alloc,     spy_pre_free, spy_post_free,
    spy_pre_realloc, spy_pass,  spy_pass,      spy_post_size, spy_pass,           spy_post_did_alloc,
    spy_nothing,     spy_nothing};
static IMallocSpy the_spy = {&spy_functions};

static void watch_frees(void) { CoRegisterMallocSpy(&the_spy); }

#endif
