/** Runs test files inside a guest, and makes each test of theirs a test here. */
import { afterAll, describe, expect, test } from 'vitest'
import { skipped } from '../../packet/testing/proxies.ts'
import { readReport } from './guest-report.ts'
import type { RelayedTest } from './guest-report.ts'
import { guestProblem, runInGuest } from './guest.ts'
import type { GuestResult } from './guest-machine.ts'

/** Shows what the guest prints while it does. */
const isVerbose = process.env['GUEST_OUTPUT'] !== undefined

export interface GuestTests {
  readonly name: string
  /** In tests/ipvs/guest. */
  readonly files: readonly string[]
  /** Of all of them together; an idle machine needs a fraction of it. */
  readonly timeoutMs: number
  /** Why they cannot run here, besides that there may be no guest. */
  readonly problem?: string | undefined
}

export async function relayGuestTests({ name, files, timeoutMs, problem: ownProblem }: GuestTests): Promise<void> {
  const problem = ownProblem ?? (await guestProblem())
  const tests = problem === undefined ? await runTests(files, timeoutMs) : [standIn]
  describe(`${name}${skipped(problem)}`, () => {
    for (const { name: sentence, isSkipped, failure } of tests)
      test.skipIf(isSkipped)(`inside: ${sentence}`, () => {
        expect(failure).toBe('')
      })
  })
}

/** One skipped test stands for all where there is no guest. */
const standIn: RelayedTest = { name: 'all tests inside the guest', isSkipped: true, failure: '' }

async function runTests(files: readonly string[], timeoutMs: number): Promise<readonly RelayedTest[]> {
  const { exitCode, output, filesByName } = await runVitest(files, timeoutMs)
  // The report has no differences between what was expected and what came; what was printed has.
  if (exitCode !== 0 && !isVerbose) afterAll(() => void process.stderr.write(output))
  return readReport(filesByName.get(reportFile), output)
}

const reportFile = 'report.json'

async function runVitest(files: readonly string[], timeoutMs: number): Promise<GuestResult> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config=tests/ipvs/guest/vitest.config.ts']
  // The host's files cannot be written, so nothing may be cached beside them.
  const readOnly = ['--configLoader=runner', '--no-cache']
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=/run/shared/${reportFile}`]
  const kubeProxy = process.env['KUBE_PROXY']
  // A guest may stand still for seconds, on a busy machine that computes what its processor does.
  const slowMachine = { PROGRAMMING_DEADLINE_MS: '180000', ANSWER_DEADLINE_MS: '60000' }
  const paths = files.map((file) => `tests/ipvs/guest/${file}`)
  return runInGuest([process.execPath, ...vitest, ...readOnly, ...reporters, ...paths], {
    timeoutMs,
    resultFiles: [reportFile],
    env: { NO_COLOR: '1', ...slowMachine, ...(kubeProxy === undefined ? {} : { KUBE_PROXY: kubeProxy }) },
    ...(isVerbose ? { onOutput: (text) => process.stderr.write(text) } : {}),
  })
}
