/** An engine that has been taken over, or that hangs: what it can do, and how soon it is replaced. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import koffi from 'koffi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { ask, eventually, open } from '../testing/clients.ts'
import { echoEndpoint } from '../testing/endpoints.ts'
import { listenerSpec, relayTo, use } from '../testing/relay-under-test.ts'
import { NativeRelay } from './native-relay.ts'
import { buildShippedEngine, type BuiltEngine } from './testing/build-engine.ts'

/** Signals make it do what its own code never would. */
const misbehaviour = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static void loop(int signal) { for (;;) (void)signal; }
static void run_program(int signal) { (void)signal; char *none[] = {NULL}; execve("/bin/true", none, none); }
static void open_file(int signal) { (void)signal; (void)!openat(AT_FDCWD, "/etc/passwd", O_RDONLY); }
static void sniff(int signal) { (void)signal; socket(AF_PACKET, SOCK_RAW, 0); }
static void raw(int signal) { (void)signal; socket(AF_INET, SOCK_RAW, 1); }
static void firewall(int signal) { (void)signal; socket(AF_NETLINK, SOCK_RAW, 12); }
static void code(int signal) { (void)signal; mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void kill_other(int signal) { (void)signal; syscall(SYS_tgkill, getppid(), getppid(), SIGKILL); }
static void shrink(int signal) { (void)signal; (void)!ftruncate(3, 0); }
static void hoard(int signal) {
  (void)signal;
  void *pieces[16];
  for (int index = 0; index < 16; index++) pieces[index] = memset(malloc(100000), 1, 100000);
  for (int index = 15; index >= 0; index--) free(pieces[index]);
}
__attribute__((constructor)) static void prepare(void) {
  void (*const handlers[])(int) = {loop, run_program, open_file, sniff, raw, firewall, code, kill_other, shrink, hoard};
  for (int index = 0; index < 10; index++) signal(SIGRTMIN + index, handlers[index]);
}
`
const [loop, firstForbidden, hoard] = [34, 35, 43]
const forbidden = [
  'runs a program',
  'opens a file',
  'sees the packets of others',
  'makes a raw socket',
  'talks to the firewall',
  'makes memory that can be run',
  'kills its parent',
  'changes the size of the shared memory',
].map((what, index) => ({ what, signal: firstForbidden + index }))

let engine: BuiltEngine

beforeAll(async () => {
  engine = await buildShippedEngine(misbehaviour)
}, 60_000)
afterAll(() => engine[Symbol.asyncDispose]())

async function relayThatMisbehaves() {
  const log = new RecordingLogger()
  const native = await NativeRelay.start({
    log,
    clock: systemClock,
    workers: 2,
    program: engine.program,
    mayBeTransparent: true,
    settings: { stuckAfterMs: 2_000 },
  })
  return { log, native, ...(await relayTo(() => native, [use(await echoEndpoint())])) }
}

test.each(forbidden)('an engine that $what is ended, and the log says over what', async ({ signal }) => {
  const { log, native, address } = await relayThatMisbehaves()
  // Not the main thread: every thread must be restricted.
  signalThread(native.pid, 2, signal)
  await eventually(() => log.at('error').length === 1)
  expect(String(log.at('error')[0]?.fields['error'])).toMatch(/made system call +\d+, which it has no use for/)
  await expect.poll(() => ask(address, 'again'), { timeout: 10_000 }).toBe('again')
})

test('threads that get much memory and give it back are no misbehaviour', async () => {
  const { log, native, address } = await relayThatMisbehaves()
  for (const thread of [0, 1, 2, 3]) signalThread(native.pid, thread, hoard)
  for (const word of ['one', 'two', 'three', 'four']) expect(await ask(address, word)).toBe(word)
  expect(log.at('error')).toEqual([])
})

test.each([
  { how: 'is stopped', hang: (pid = 0) => process.kill(pid, 'SIGSTOP') },
  { how: 'has its main thread in a loop', hang: (pid?: number) => signalThread(pid, 0, loop) },
  { how: 'has one worker in a loop', hang: (pid?: number) => signalThread(pid, 3, loop) },
])('an engine that $how is replaced, with all it knew; who waits for it is served', async ({ hang }) => {
  const { log, native, relay, address, stats } = await relayThatMisbehaves()
  const client = open(address)
  client.write('hello')
  await once(client, 'data')
  client.on('error', () => {})
  hang(native.pid)
  const opened = await relay.set(listenerSpec([], { id: 'other', pool: { id: 'other' } }))
  expect(opened).toMatchObject({ ok: true })
  await eventually(() => log.at('error').length === 1)
  expect(log.at('error')[0]).toMatchObject({
    message: 'the native relay died: its connections are lost, its listeners are being reopened',
    fields: { error: { message: expect.stringContaining('did not answer for 2 s') as string } },
  })
  await eventually(() => client.readableEnded)
  client.destroy()
  await expect.poll(() => ask(address, 'again'), { timeout: 10_000 }).toBe('again')
  expect(stats()).toMatchObject({ connections: 2, bytesIn: 'hello'.length + 'again'.length })
  expect(
    relay
      .stats()
      .listeners.map(({ id }) => id)
      .toSorted(),
  ).toEqual(['other', 'web'])
})

test('an engine that hangs does not keep its listeners from being closed', async () => {
  const { log, native, relay } = await relayThatMisbehaves()
  process.kill(native.pid ?? 0, 'SIGSTOP')
  await relay[Symbol.asyncDispose]()
  expect(log.at('warn').map(({ message }) => message)).toEqual(['the native relay did not stop cleanly'])
  expect(log.at('error')).toEqual([])
})

/** Threads are in the order in which they were started: main, the one that writes answers, workers. */
function signalThread(pid = 0, index: number, signal: number): void {
  const thread = readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .toSorted((a, b) => a - b)[index]
  const tgkill = koffi.load(null).func('int tgkill(int process, int thread, int signal)') as (
    process: number,
    thread: number,
    signal: number,
  ) => number
  if (tgkill(pid, thread ?? 0, signal) !== 0) throw new Error(`the signal was not sent: errno ${koffi.errno()}`)
}
