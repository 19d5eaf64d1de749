/** The images of the cluster, packed from programs of this machine: nothing is pulled. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGoProgram } from '../programs.ts'
import { run } from '../run.ts'
import { writeOciArchive } from './oci-archive.ts'
import { RootFolder, findProgram } from './root-folder.ts'

export const pauseImage = 'registry.k8s.io/pause:3.10.2'
export const corednsImage = 'fairlead.test/coredns:e2e'

/** What scripts of the tests call. Busybox has the rest; where it looks up names, Debian's static one crashes. */
const tools = ['bash', 'curl', 'wget', 'dig', 'nslookup', 'getent', 'hostname', 'nc', 'ss', 'ip', 'conntrack']

/** The names by which the tests of Kubernetes 1.36.4 ask for images ("e2e.test --list-images"). */
const testImages = 'registry.k8s.io/e2e-test-images'
const agnhostNames = [`${testImages}/agnhost:2.63.0`]
const toolNames = [
  `${testImages}/busybox:1.37.0-1`,
  `${testImages}/busybox:1.36.1-1`,
  `${testImages}/glibc-dns-testing:2.0.0`,
  'registry.k8s.io/build-image/distroless-iptables:v0.9.6',
]
const nginxNames = [`${testImages}/nginx:1.15-4`, `${testImages}/nginx:1.27-0`]
const regressionNames = [`${testImages}/regression-issue-74839:1.4`]

const cache = fileURLToPath(new URL('../../../.cache/kubelet/images/', import.meta.url))

/** The path of an OCI archive with all of them, packed first unless the same programs have been packed before. */
export async function packImages(): Promise<string> {
  const goPrograms = {
    agnhost: await buildGoProgram('agnhost'),
    coredns: await buildGoProgram('coredns'),
    regression: await buildGoProgram('regression-issue-74839'),
  }
  const toolPaths = await Promise.all([...tools, 'busybox'].map(findProgram))
  const version = await run('dpkg-query', ['--search', ...toolPaths]).catch(() => '')
  const hash = createHash('sha256')
    .update(JSON.stringify([goPrograms, toolPaths, version, agnhostNames, toolNames, nginxNames, regressionNames, 2]))
    .digest('hex')
    .slice(0, 12)
  const archive = join(cache, `images-${hash}.tar`)
  if (existsSync(archive)) return archive

  await mkdir(cache, { recursive: true })
  for (const older of await readdir(cache)) await rm(join(cache, older), { recursive: true, force: true })
  const folder = await mkdtemp(join(cache, 'packing-'))
  try {
    const layer = await packTools(folder, goPrograms, toolPaths)
    const pause = await packPause(folder)
    await writeOciArchive(archive, [
      { names: agnhostNames, layers: [layer], config: { Entrypoint: ['/agnhost'], Cmd: ['pause'] } },
      { names: toolNames, layers: [layer], config: { Cmd: ['sh'] } },
      { names: nginxNames, layers: [layer], config: { Cmd: ['/agnhost', 'test-webserver'] } },
      { names: regressionNames, layers: [layer], config: { Entrypoint: ['/regression-issue-74839'] } },
      { names: [corednsImage], layers: [layer], config: { Entrypoint: ['/coredns'] } },
      { names: [pauseImage], layers: [pause], config: { Entrypoint: ['/pause'] } },
    ])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return archive
}

async function packTools(
  folder: string,
  goPrograms: Readonly<Record<'agnhost' | 'coredns' | 'regression', string>>,
  toolPaths: readonly string[],
): Promise<string> {
  const path = join(folder, 'tools')
  const root = new RootFolder(path)
  await root.addBasics()
  for (const tool of toolPaths.slice(0, -1)) await root.addProgram(tool)
  // Not Busybox's own: Debian's takes its applets for programs of the same name, whatever PATH says.
  await root.addLink('/bin/sh', 'bash')
  await root.addBusybox(toolPaths.at(-1) ?? '')
  await root.addProgram(goPrograms.agnhost, '/agnhost')
  await root.addLink('/agnhost-2', 'agnhost')
  await root.addProgram(goPrograms.coredns, '/coredns')
  await root.addProgram(goPrograms.regression, '/regression-issue-74839')
  // For "agnhost porter", which looks for a certificate where it is started.
  const [key, certificate] = [join(path, 'localhost.key'), join(path, 'localhost.crt')]
  await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-keyout', key, '-out', certificate, '-days', '3650', '-subj', '/CN=localhost']) // prettier-ignore
  await root.pack(join(folder, 'tools.tar'))
  return join(folder, 'tools.tar')
}

/** Holds the namespaces of a pod and does nothing else. */
async function packPause(folder: string): Promise<string> {
  const source = `
    #include <signal.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void end(int signal) { _exit(0); }
    static void reap(int signal) { while (waitpid(-1, 0, WNOHANG) > 0); }
    int main(void) {
      signal(SIGINT, end); signal(SIGTERM, end); signal(SIGCHLD, reap);
      for (;;) pause();
    }`
  const path = join(folder, 'pause')
  await mkdir(path)
  await run('cc', ['-static', '-Os', '-o', join(path, 'pause'), '-x', 'c', '-'], { input: source })
  await new RootFolder(path).pack(join(folder, 'pause.tar'))
  return join(folder, 'pause.tar')
}
