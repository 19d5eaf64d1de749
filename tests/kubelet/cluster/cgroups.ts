/** The control groups of a cluster: the only thing of it that outlives its namespaces, and so has to be removed. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = '/sys/fs/cgroup'

/** Of the clusters that this process starts. Each node has one below it, by its name. */
export function cgroupName(pid: number): string {
  return `fairlead-test-e2e-${pid}`
}

/** A kubelet wants its root group to be there, in every hierarchy. */
export async function makeCgroups(path: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    let group = hierarchy
    for (const part of path.split('/')) {
      await offerControllers(group)
      const parent = group
      group = join(group, part)
      await mkdir(group, { recursive: true })
      await inheritCpuset(parent, group)
    }
  }
}

/** Version 2: a group has the controllers that its parent offers. */
async function offerControllers(group: string): Promise<void> {
  if (!existsSync(join(group, 'cgroup.subtree_control'))) return
  const controllers = (await readFile(join(group, 'cgroup.controllers'), 'utf8')).trim().split(' ')
  const offered = controllers.filter((controller) => controller !== '').map((controller) => `+${controller}`)
  if (offered.length > 0) await writeFile(join(group, 'cgroup.subtree_control'), offered.join(' '))
}

/** Version 1: a new group of this hierarchy has no processor and no memory, and takes no process. */
async function inheritCpuset(parent: string, group: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems'])
    if (existsSync(join(root, 'cpuset')) && existsSync(join(group, file)))
      await writeFile(join(group, file), await readFile(join(parent, file), 'utf8'))
}

/** Where version 2 shows a group, which is where programs are attached; undefined without version 2. */
export function unifiedFolder(path: string): string | undefined {
  return [root, join(root, 'unified')]
    .filter((folder) => existsSync(join(folder, 'cgroup.controllers')))
    .map((folder) => join(folder, path))[0]
}

/** Its processes must be ending already. */
export async function removeCgroups(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeTree(join(hierarchy, name))
}

/** What an earlier run left behind that was killed before it could clean up. */
export async function removeAbandonedCgroups(): Promise<void> {
  const names = new Set<string>()
  for (const hierarchy of await hierarchies())
    for (const entry of await readdir(hierarchy)) {
      const pid = /^fairlead-test-e2e-(\d+)$/.exec(entry)?.[1]
      if (pid !== undefined && !existsSync(`/proc/${pid}`)) names.add(entry)
    }
  for (const name of names) await removeCgroups(name)
}

async function removeTree(group: string): Promise<void> {
  if (!existsSync(group)) return
  for (const entry of await readdir(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeTree(join(group, entry.name))
  const deadline = Date.now() + 20_000
  for (;;) {
    try {
      await rmdir(group)
      return
    } catch (error) {
      // Busy until the kernel has taken the last process apart.
      if (Date.now() > deadline) throw new Error(`cgroup ${group} could not be removed`, { cause: error })
      await sleep(50)
    }
  }
}

/** One with version 2; one for each controller with version 1, which some machines still have. */
async function hierarchies(): Promise<readonly string[]> {
  if (existsSync(join(root, 'cgroup.controllers'))) return [root]
  const folders = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  return folders.map(({ name }) => join(root, name)).filter((path) => existsSync(join(path, 'cgroup.procs')))
}
