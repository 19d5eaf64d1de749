/** What is known about the configuration that runs and the one that is wanted, for pages and series. */
import { configToV1alpha1, fairleadToV1alpha1 } from '../../../config/file/config-to-v1alpha1.ts'
import { configHash } from '../../../config/live/config-hash.ts'
import type { HeldChange } from '../../../config/live/plan-reload.ts'
import type { RunningConfig } from '../../../config/live/running-config.ts'
import type { ProxyConfig } from '../../../config/proxy-config.ts'

/** A file that is valid, of which some fields wait for a restart. */
export interface Pending {
  readonly config: ProxyConfig
  readonly fields: readonly HeldChange[]
}

export interface Refused {
  readonly atMs: number
  readonly problem: string
}

export class ReloadStatus {
  readonly #running: RunningConfig
  /** Of the start, or of the last change that was applied. */
  appliedAtMs: number
  pending: Pending | undefined
  /** The file as it is cannot be used. */
  refused: Refused | undefined
  #hashed: { readonly config: ProxyConfig; readonly hash: string } | undefined

  constructor(running: RunningConfig, startedAtMs: number) {
    this.#running = running
    this.appliedAtMs = startedAtMs
  }

  get runningHash(): string {
    const { config } = this.#running
    if (this.#hashed?.config !== config) this.#hashed = { config, hash: configHash(config) }
    return this.#hashed.hash
  }

  get pendingHash(): string | undefined {
    return this.pending && configHash(this.pending.config)
  }

  /** The body of `/configz`: that of kube-proxy, and one more key. */
  configz(): object {
    const { config } = this.#running
    return {
      'kubeproxy.config.k8s.io': configToV1alpha1(config),
      'fairlead.dev': {
        config: fairleadToV1alpha1(config),
        running: { hash: this.runningHash, since: new Date(this.appliedAtMs).toISOString() },
        ...(this.pending && {
          pending: {
            hash: this.pendingHash,
            needRestart: this.pending.fields.map(({ field, from, to, because }) => ({
              field,
              running: from,
              pending: to,
              because,
            })),
          },
        }),
        ...(this.refused && {
          refused: { at: new Date(this.refused.atMs).toISOString(), problem: this.refused.problem },
        }),
      },
    }
  }
}
