/** Runs test files inside a guest, and makes each test of theirs a test here. */
import { afterAll, describe, expect, test } from 'vitest'
import { skipped } from '../../packet/testing/proxies.ts'
import type { GuestChoice } from './choose-guest.ts'
import type { GuestKernelName } from './guest-kernel.ts'
import { readReport } from './guest-report.ts'
import type { RelayedTest } from './guest-report.ts'
import { chosenGuest, runInGuest } from './guest.ts'
import type { GuestResult } from './guest-machine.ts'

/** Shows what the guest prints while it does. */
const isVerbose = process.env['GUEST_OUTPUT'] !== undefined

export interface GuestTests {
  readonly name: string
  /** In the folder of the suite. */
  readonly files: readonly string[]
  /** Of all of them together; an idle machine needs a fraction of it. */
  readonly timeoutMs: number
  /** Why they cannot run here, besides that there may be no guest. */
  readonly problem?: string | undefined
}

/** What tests of one kind need inside. */
export interface GuestSuite {
  /** Where they are. */
  readonly folder: string
  /** Of vitest. */
  readonly config: string
  readonly kernel: () => Promise<GuestChoice>
  readonly memoryMb: number
  /** A line for the shell, before the tests. */
  readonly preparation: string
}

const ipvsSuite: GuestSuite = {
  folder: 'tests/ipvs/guest',
  config: 'tests/ipvs/guest/vitest.config.ts',
  kernel: chosenGuest,
  memoryMb: 1024,
  preparation: 'true',
}

export async function relayGuestTests(
  { name, files, timeoutMs, problem }: GuestTests,
  suite: GuestSuite = ipvsSuite,
): Promise<void> {
  const kernel = problem === undefined ? await suite.kernel() : { name: undefined, passedOver: problem }
  const tests = kernel.name === undefined ? [standIn] : await runTests(suite, kernel.name, files, timeoutMs)
  describe(`${name}${skipped(kernel.name === undefined ? kernel.passedOver : undefined)}`, () => {
    for (const { name: sentence, isSkipped, failure } of tests)
      test.skipIf(isSkipped)(`inside: ${sentence}`, () => {
        expect(failure).toBe('')
      })
  })
}

/** One skipped test stands for all where there is no guest. */
const standIn: RelayedTest = { name: 'all tests inside the guest', isSkipped: true, failure: '' }

async function runTests(...what: Parameters<typeof runVitest>): Promise<readonly RelayedTest[]> {
  const { exitCode, output, filesByName } = await runVitest(...what)
  // The report has no differences between what was expected and what came; what was printed has.
  if (exitCode !== 0 && !isVerbose) afterAll(() => void process.stderr.write(output))
  return readReport(filesByName.get(reportFile), output)
}

const reportFile = 'report.json'

async function runVitest(
  { folder, config, memoryMb, preparation }: GuestSuite,
  kernel: GuestKernelName,
  files: readonly string[],
  timeoutMs: number,
): Promise<GuestResult> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', `--config=${config}`]
  // The host's files cannot be written, so nothing may be cached beside them.
  const readOnly = ['--configLoader=runner', '--no-cache']
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=/run/shared/${reportFile}`]
  const kubeProxy = process.env['KUBE_PROXY']
  // A guest may stand still for seconds, on a busy machine that computes what its processor does.
  const slowMachine = { PROGRAMMING_DEADLINE_MS: '180000', ANSWER_DEADLINE_MS: '60000' }
  const paths = files.map((file) => `${folder}/${file}`)
  const run = [process.execPath, ...vitest, ...readOnly, ...reporters, ...paths]
  const options = {
    timeoutMs,
    memoryMb,
    resultFiles: [reportFile],
    env: { NO_COLOR: '1', ...slowMachine, ...(kubeProxy === undefined ? {} : { KUBE_PROXY: kubeProxy }) },
    ...(isVerbose ? { onOutput: (text: string) => process.stderr.write(text) } : {}),
  }
  return runInGuest(['sh', '-c', `${preparation} && exec "$0" "$@"`, ...run], options, kernel)
}
