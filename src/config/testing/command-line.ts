import assert from 'node:assert/strict'
import { type Completion, completeOptions } from '../daemon/complete-options.ts'
import { parseDaemonCommandLine } from '../daemon/parse-daemon-command-line.ts'
import type { UncheckedConfig } from '../proxy-config.ts'
import { validateConfig } from '../validation/validate-config.ts'

export interface Given {
  /** The content of the configuration file; apiVersion and kind are added. */
  readonly file?: string
  readonly platform?: NodeJS.Platform
}

const path = '/etc/fairlead/config.yaml'

export function fileOf(fields: string): string {
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n${fields}`
}

/** Fails the test if the command line asks for anything but to run. */
export function parsed(args: readonly string[], platform: NodeJS.Platform = 'linux') {
  const line = parseDaemonCommandLine(args, platform)
  assert.equal(line.kind, 'run', line.kind === 'refused' ? line.message : undefined)
  return line
}

export function refusal(args: readonly string[], platform: NodeJS.Platform = 'linux'): string {
  const line = parseDaemonCommandLine(args, platform)
  assert.equal(line.kind, 'refused')
  return line.message
}

export async function completion(args: readonly string[], given: Given = {}): Promise<Completion> {
  const { file, platform = 'linux' } = given
  const { options } = parsed(file === undefined ? args : [...args, `--config=${path}`], platform)
  return completeOptions(options, {
    platform,
    readTextFile: async (name) => {
      assert.equal(name, path)
      return fileOf(file ?? '')
    },
  })
}

/** The configuration from these flags and this file, before validation. */
export async function config(args: readonly string[], given: Given = {}): Promise<UncheckedConfig> {
  const done = await completion(args, given)
  assert.ok(done.ok, done.ok ? '' : done.message)
  return done.config
}

/** What is wrong with these flags and this file, or `valid`. */
export async function verdict(args: readonly string[], given: Given = {}): Promise<string> {
  const done = await completion(args, given)
  if (!done.ok) return done.message
  const validation = validateConfig(done.config, given.platform ?? 'linux')
  return validation.ok ? 'valid' : validation.message
}
