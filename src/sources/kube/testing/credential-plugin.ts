/** A credential plugin in the script language of the system that the test runs on: `sh`, or a batch file. */
import type { TemporaryFolder } from './temporary-folder.ts'

/** What it does when it is run for the first, the second, … time. */
export interface PluginRun {
  readonly prints?: string
  readonly complains?: string
  readonly exitCode?: number
}

/**
 * Writes a program that is called `login`, without its ending on Windows. It notes its arguments, after the variable
 * `WHO`, in a file `arguments` and KUBERNETES_EXEC_INFO in `info`.
 */
export async function writePlugin(folder: TemporaryFolder, runs: readonly PluginRun[]): Promise<void> {
  for (const [index, { complains = '', prints = '' }] of runs.entries()) {
    await folder.write(`prints-${index}`, prints)
    await folder.write(`complains-${index}`, complains)
  }
  if (process.platform === 'win32') await folder.write('login.cmd', batchFile(runs).join('\r\n'))
  else await folder.write('login', shellScript(runs).join('\n'), 0o700)
}

function shellScript(runs: readonly PluginRun[]): readonly string[] {
  return [
    '#!/bin/sh',
    'cd "$(dirname "$0")"',
    'echo "$WHO $*" > arguments',
    'echo "$KUBERNETES_EXEC_INFO" > info',
    ...runs.flatMap(({ exitCode = 0 }, index) => [
      `if [ ! -e ran-${index} ]; then`,
      `touch ran-${index}; cat prints-${index}; cat complains-${index} >&2; exit ${exitCode}`,
      'fi',
    ]),
  ]
}

function batchFile(runs: readonly PluginRun[]): readonly string[] {
  return [
    '@echo off',
    'cd /d "%~dp0"',
    'echo %WHO% %*>arguments',
    'set KUBERNETES_EXEC_INFO>info',
    ...runs.flatMap(({ exitCode = 0 }, index) => [
      `if exist ran-${index} goto after${index}`,
      `echo ran>ran-${index}`,
      `type prints-${index}`,
      `type complains-${index} >&2`,
      `exit /b ${exitCode}`,
      `:after${index}`,
    ]),
  ]
}
