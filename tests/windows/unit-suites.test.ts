/**
 * The unit tests of the folders that know no system, run by vitest in the Windows build of Node.js. Each result there is
 * a test here: it fails with what it said there.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readReport } from '../../tools/vitest-report.ts'
import type { FileReport } from '../../tools/vitest-report.ts'
import { buildStandIn, libraryNames } from './stand-in/build.ts'
import { runOnWindows } from './testing/windows-process.ts'
import { missingTools, windowsPath } from './testing/wine.ts'
import { unixOnly } from './unit-suites.config.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const run = missingTools === undefined ? await runUnitSuites() : { exitCode: 0, files: [] }
const results = [...run.files.flatMap(resultsOf), ...Object.entries(unixOnly).map(leftOut)]

for (const { file, isSkipped, name, problems } of results)
  test.skipIf(isSkipped)(`${file}: ${name}`, () => {
    expect(problems.join('\n')).toBe('')
  })

test.skipIf(missingTools !== undefined)(`the unit tests run on Windows${missingTools ?? ''}`, () => {
  expect(run.files).not.toEqual([])
  // Also when all tests pass, something may have gone wrong between them.
  expect(run.exitCode).toBe(0)
})

async function runUnitSuites(): Promise<UnitRun> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-windows-report-'))
  try {
    const report = join(folder, 'report.json')
    for (const name of libraryNames) await buildStandIn('windows', folder, name)
    const flags = ['--config', 'tests/windows/unit-suites.config.ts', '--reporter=default', '--reporter=json']
    const { exitCode, stdout, stderr } = await runOnWindows(join(root, 'node_modules/vitest/vitest.mjs'), {
      args: ['run', ...flags, `--outputFile.json=${windowsPath(report)}`],
      cwd: root,
      env: { FAIRLEAD_STAND_IN: windowsPath(folder) },
      timeLimitMs: 25 * 60_000,
    })
    if (exitCode !== 0) process.stdout.write(`vitest on Windows ended with ${exitCode}:\n${stdout}${stderr}\n`)
    return { exitCode, files: readReport(report) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface UnitRun {
  readonly exitCode: number | null
  readonly files: readonly FileReport[]
}

interface Result {
  readonly file: string
  readonly name: string
  readonly isSkipped: boolean
  readonly problems: readonly string[]
}

function resultsOf({ assertionResults, message, name, status }: FileReport): readonly Result[] {
  const file = posix.relative(`Z:${root}`, name)
  const tests = assertionResults.map(({ failureMessages, fullName, status: outcome }) => ({
    file,
    name: fullName,
    isSkipped: outcome !== 'passed' && outcome !== 'failed',
    problems: failureMessages,
  }))
  // A file that fails before its first test.
  if (status === 'failed' && !tests.some(({ problems }) => problems.length > 0))
    return [...tests, { file, name: 'can be run', isSkipped: false, problems: [message] }]
  return tests
}

function leftOut([file, need]: readonly [string, string]): Result {
  return { file, name: `all of it (not on Windows: needs ${need})`, isSkipped: true, problems: [] }
}
