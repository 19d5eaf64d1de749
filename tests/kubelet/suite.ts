/** Runs the end-to-end tests of Kubernetes against a cluster. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from './cluster/control-plane.ts'
import { buildGoProgram } from './programs.ts'
import { readResults, withSecondTries } from './results.ts'
import type { TestResult } from './results.ts'
import type { SuiteOptions, Task } from './task.ts'

export const resultFile = 'results.json'

/** More than these are no accident of a busy machine. */
const mostSecondTries = 12

type RunOptions = SuiteOptions & Pick<Task, 'resultFolder' | 'nodeCount'>

/** Leaves the results in the folder. What fails among others is run once more, alone. */
export async function runSuite(controlPlane: ControlPlane, options: RunOptions): Promise<void> {
  let results = await runOnce(controlPlane, options, 'suite')
  const failed = results
    .filter(({ outcome, name }) => outcome === 'failed' && name.startsWith('['))
    .map(({ name }) => name)
  if (failed.length > 0 && failed.length <= mostSecondTries) {
    process.stdout.write(failed.map((name) => `e2e: again, alone: ${name}\n`).join(''))
    // No beginning of the text: Ginkgo compares with the name of the suite in front.
    const focus = failed.map((name) => escapeExpression(name))
    results = withSecondTries(
      results,
      await runOnce(controlPlane, { ...options, focus, skip: [], processes: 1 }, 'again'),
    )
  }
  await writeFile(join(options.resultFolder, resultFile), JSON.stringify(results))
}

async function runOnce(
  { url, kubeconfig }: ControlPlane,
  { focus, skip, processes, timeoutMinutes, resultFolder, nodeCount }: RunOptions,
  name: string,
): Promise<readonly TestResult[]> {
  const args = [
    `--procs=${processes}`,
    `--timeout=${timeoutMinutes}m`,
    '--no-color',
    '--silence-skips',
    `--output-dir=${resultFolder}`,
    `--json-report=${name}.json`,
    ...focus.map((expression) => `--focus=${expression}`),
    ...skip.map((expression) => `--skip=${expression}`),
    await buildGoProgram('e2e.test'),
    '--',
    `--kubeconfig=${kubeconfig}`,
    `--host=${url}`,
    '--provider=skeleton',
    `--num-nodes=${nodeCount}`,
    // Both print the state of the whole cluster after each failure.
    '--dump-logs-on-failure=false',
    '--disable-log-dump=true',
    '--node-os-distro=debian',
  ]
  const log = openSync(join(resultFolder, `${name}.log`), 'w')
  const child = spawn(await buildGoProgram('ginkgo'), args, {
    cwd: resultFolder,
    env: { ...process.env, KUBECONFIG: kubeconfig, HOME: '/mnt' },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    // A test that failed is a result, not an error; if there is no report, reading it says so.
    child.once('close', () => resolve())
  })
  return readResults(join(resultFolder, `${name}.json`))
}

function escapeExpression(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
