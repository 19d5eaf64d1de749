/* Wine 8 has no bcryptprimitives.dll, and programs written in Rust take their random bytes from it. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG length); /* RtlGenRandom, by the name that advapi32 exports */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
  return SystemFunction036(bytes, (ULONG)length);
}
