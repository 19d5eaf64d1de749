/** Follows the configuration file while the proxy runs: what can change does so at once, what cannot is held and told. */
import { logOptions } from '../../host/logger-for.ts'
import { CommandError } from '../../program.ts'
import type { Runnable } from '../../run-all.ts'
import { hasEffect, planReload } from '../../../config/live/plan-reload.ts'
import type { FieldChange, ReloadPlan } from '../../../config/live/plan-reload.ts'
import type { ProxyConfig } from '../../../config/proxy-config.ts'
import { validateConfig } from '../../../config/validation/validate-config.ts'
import type { ConfigMetrics } from '../../../observe/metrics/config-metrics.ts'
import type { DaemonEvents } from '../daemon-events.ts'
import type { ConfigFile, Daemon } from '../daemon.ts'
import { checkSettings } from '../families-to-proxy.ts'
import type { FamilyProxy } from '../family-proxy.ts'
import type { PreparedNode } from '../serve.ts'
import { ConfigWatch } from './config-watch.ts'
import type { ReloadStatus } from './reload-status.ts'
import { writeMachine } from './write-machine.ts'

export interface ConfigReloadOptions {
  readonly file: ConfigFile
  readonly daemon: Pick<Daemon, 'running' | 'hangups' | 'host' | 'log'>
  readonly prepared: Pick<PreparedNode, 'node' | 'context' | 'settings' | 'mode' | 'families'>
  readonly proxies: readonly Pick<FamilyProxy, 'reconfigure' | 'periodsChanged'>[]
  readonly status: ReloadStatus
  readonly metrics: Pick<ConfigMetrics, 'reloaded'>
  readonly events: Pick<DaemonEvents, 'configuration'>
}

/** What was found at the path of the file. */
type Found = { readonly content: string } | { readonly problem: string }

export class ConfigReload implements Runnable {
  readonly #options: ConfigReloadOptions
  /** What was considered last: the same again is no news. */
  #last: Found
  #toldWarnings: ReadonlySet<string>
  /** Somebody wants the file to be considered, news or not: the machine may have changed. */
  #isAsked = false

  constructor(options: ConfigReloadOptions) {
    this.#options = options
    this.#last = { content: options.file.content }
    this.#toldWarnings = new Set(this.#check(options.daemon.running.config).warnings)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { file, daemon } = this.#options
    using watch = new ConfigWatch({ path: file.path, clock: daemon.host.clock })
    using hangups = daemon.hangups?.listen(() => {
      daemon.log.info('SIGHUP: reading the configuration file again', { file: file.path })
      this.#isAsked = true
      watch.notice()
    })
    void hangups
    // It may have changed while the proxy was being set up.
    for (let found = await this.#find(); !signal.aborted; found = await this.#find()) {
      if (this.#isAsked || !isSame(found, this.#last)) {
        this.#last = found
        this.#isAsked = false
        await this.#consider(found, signal)
      }
      await watch.next(signal)
    }
  }

  async #find(): Promise<Found> {
    const { file, daemon } = this.#options
    try {
      return { content: await daemon.host.readTextFile(file.path) }
    } catch (error) {
      return { problem: `cannot read the configuration file ${file.path}: ${messageOf(error)}` }
    }
  }

  async #consider(found: Found, signal: AbortSignal): Promise<void> {
    if ('problem' in found) return this.#refuse(found.problem)
    const { file, daemon } = this.#options
    let plan: ReloadPlan
    let wanted: ProxyConfig
    try {
      const loaded = await file.parse(found.content)
      wanted = loaded.config
      const { fatal } = this.#check(wanted)
      if (fatal !== undefined) return this.#refuse(fatal)
      const next = await this.#asItRuns(wanted, found.content)
      plan = planReload(daemon.running.config, next)
      this.#warn([...loaded.warnings, ...this.#checkMixed(plan.config)])
      const unable = await this.#changeMachine(plan, signal)
      if (unable.size > 0) plan = planReload(daemon.running.config, next, unable)
    } catch (error) {
      if (signal.aborted) return
      return this.#refuse(messageOf(error))
    }
    this.#apply(plan)
    this.#report(plan, wanted)
  }

  /** The sections and defaults of the mode that runs are what this process can use of the file. */
  async #asItRuns(wanted: ProxyConfig, content: string): Promise<ProxyConfig> {
    const { file, daemon } = this.#options
    const { mode } = daemon.running.config
    if (wanted.mode === mode) return wanted
    return { ...(await file.parse(content, mode)).config, mode: wanted.mode }
  }

  /** Part of it is the file, part of it runs: nobody wrote it like this. Throws where that does not fit together. */
  #checkMixed(config: ProxyConfig): readonly string[] {
    const validated = validateConfig(config, this.#options.daemon.host.platform)
    const { fatal, warnings } = this.#check(config)
    const problem = validated.ok ? fatal : validated.message
    if (problem !== undefined)
      throw new CommandError(`with the fields that keep their values until a restart: ${problem}`)
    return warnings
  }

  #check(config: ProxyConfig): ReturnType<typeof checkSettings> {
    const { mode, node, families, settings } = this.#options.prepared
    return checkSettings(mode, settings.with(config), { primaryFamily: node.addresses.primaryFamily, families })
  }

  /** First, because it can fail, and because rules may need it. Returns the fields that cannot change here, and why. */
  async #changeMachine(plan: ReloadPlan, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    try {
      return await writeMachine(this.#options, plan, signal)
    } catch (error) {
      if (!signal.aborted) await this.#putBack(plan, signal)
      throw error
    }
  }

  /** Some of it may have been written. What the running configuration leaves alone stays as it is now. */
  async #putBack(plan: ReloadPlan, signal: AbortSignal): Promise<void> {
    const { daemon } = this.#options
    try {
      await writeMachine(this.#options, { ...plan, config: daemon.running.config }, signal)
    } catch (error) {
      if (!signal.aborted)
        daemon.log.warn('settings of the machine may have changed although the file was refused', { error })
    }
  }

  /** In one turn of the event loop: nobody reads one field as it was and another one as it is. */
  #apply(plan: ReloadPlan): void {
    const { daemon, proxies } = this.#options
    daemon.running.replace(plan.config)
    if (hasEffect(plan, 'log')) daemon.log.configure(logOptions(plan.config.logging))
    if (hasEffect(plan, 'sync loop')) for (const proxy of proxies) proxy.periodsChanged()
    if (hasEffect(plan, 'rules')) for (const proxy of proxies) proxy.reconfigure('the configuration file changed')
  }

  #report(plan: ReloadPlan, wanted: ProxyConfig): void {
    const { daemon, status, metrics, events } = this.#options
    const { host, log } = daemon
    const { live, restart } = plan
    if (live.length > 0) status.appliedAtMs = host.clock.now()
    const wasRefused = status.refused !== undefined
    status.refused = undefined
    status.pending = restart.length === 0 ? undefined : { config: wanted, fields: restart }
    metrics.reloaded(live.length > 0 ? 'applied' : 'unchanged')
    for (const { field, from, to } of live) log.info('configuration field changed', { field, from, to })
    for (const { field, from, to, because } of restart)
      log.warn('configuration field keeps its value until a restart', { field, running: from, pending: to, because })
    const hashes = { hash: status.runningHash, ...(status.pending && { pendingHash: status.pendingHash }) }
    if (live.length > 0) log.info('configuration applied', { fields: live.length, ...hashes })
    else log.info('configuration file read, nothing to change', hashes)
    if (live.length > 0) events.configuration('ConfigurationApplied', listed(live))
    else if (wasRefused && restart.length === 0)
      events.configuration('ConfigurationApplied', 'the configuration file is valid again, and is what runs')
    if (restart.length > 0)
      events.configuration('ConfigurationNeedsRestart', `these keep their values until a restart: ${listed(restart)}`)
  }

  #refuse(problem: string): void {
    const { file, daemon, status, metrics, events } = this.#options
    status.refused = { atMs: daemon.host.clock.now(), problem }
    status.pending = undefined
    metrics.reloaded('refused')
    daemon.log.error('configuration file refused, the running configuration stays', { file: file.path, problem })
    events.configuration('ConfigurationRefused', `the running configuration stays: ${problem}`)
  }

  /** Each once, for as long as it holds. */
  #warn(warnings: readonly string[]): void {
    for (const warning of warnings)
      if (!this.#toldWarnings.has(warning)) this.#options.daemon.log.warn('configuration', { warning })
    this.#toldWarnings = new Set(warnings)
  }
}

function isSame(left: Found, right: Found): boolean {
  return 'content' in left
    ? 'content' in right && left.content === right.content
    : 'problem' in right && left.problem === right.problem
}

/** An Event has room for a kilobyte. */
const mostListed = 8

function listed(changes: readonly FieldChange[]): string {
  const texts = changes.slice(0, mostListed).map(({ field, from, to }) => `${field}: ${from} → ${to}`)
  const more = changes.length - texts.length
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
