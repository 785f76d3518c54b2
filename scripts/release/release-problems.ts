/** What stands in the way of a release, from facts about the repository. Pure: the facts are read by `scripts/release.ts`. */
import { type ChangelogSection, changelogSections } from './changelog.ts';
import { compareVersions, isVersion } from './version.ts';

/** What every release needs to know. */
interface Facts {
  /** The version to release. */
  readonly version: string;
  /** The version in package.json. */
  readonly packageVersion: string;
  /** What `git status --porcelain` prints. */
  readonly changes: string;
  readonly changelog: string;
  /** Those that say how to install the package, by path. */
  readonly pages: Readonly<Record<string, string>>;
}

/** Before the tag, in a clone. */
export interface TagFacts extends Facts {
  /** Empty when no branch is checked out. */
  readonly branch: string;
  readonly tags: readonly string[];
}

/** After the tag, in the workflow that publishes it. */
export interface PublishFacts extends Facts {
  /** The ref that the workflow runs for, such as `refs/tags/v1.2.3`. */
  readonly ref: string | undefined;
  /** Whether the workflow can prove its identity, which provenance needs. */
  readonly hasIdentity: boolean;
}

export function tagOf(version: string): string {
  return `v${version}`;
}

/** Why the version cannot be tagged; empty when it can. */
export function tagProblems({ version, packageVersion, branch, tags, ...facts }: TagFacts): readonly string[] {
  if (!isVersion(version)) return [`"${version}" is not a version such as 1.2.3 or 1.2.3-beta.1`];
  const [last] = released(tags).toSorted((a, b) => compareVersions(b, a));
  const isBehind = last !== undefined && compareVersions(version, last) <= 0;
  return [
    ...treeProblems(facts),
    ...(branch === 'main' ? [] : [`the branch is ${branch === '' ? 'none' : branch}; releases are made on main`]),
    ...(isBehind ? [`${version} is not newer than ${last}, which has the tag ${tagOf(last)}`] : []),
    ...(compareVersions(version, packageVersion) < 0
      ? [`${version} is older than package.json, ${packageVersion}`]
      : []),
    ...sectionProblems(version, facts.changelog, ({ date }) =>
      date === undefined ? [] : [`CHANGELOG.md says that ${version} was released on ${date}`],
    ),
  ];
}

/** Why the tagged version cannot be published; empty when it can. */
export function publishProblems({
  version,
  packageVersion,
  ref,
  hasIdentity,
  ...facts
}: PublishFacts): readonly string[] {
  const tag = `refs/tags/${tagOf(version)}`;
  return [
    ...treeProblems(facts),
    ...(hasIdentity ? [] : ['provenance needs a workflow with the permission id-token: write; push the tag instead']),
    ...(version === packageVersion ? [] : [`package.json is ${packageVersion}, not ${version}`]),
    ...(ref === tag ? [] : [`the workflow runs for ${ref ?? 'nothing'}, not for ${tag}`]),
    ...sectionProblems(version, facts.changelog, ({ date }) =>
      date === undefined ? [`CHANGELOG.md says that ${version} is unreleased; npm run release writes the date`] : [],
    ),
  ];
}

function treeProblems({ changes, pages }: Pick<Facts, 'changes' | 'pages'>): readonly string[] {
  return [
    ...(changes.trim() === '' ? [] : [`the tree has changes that are not committed:\n${changes.trimEnd()}`]),
    ...Object.entries(pages).flatMap(([path, text]) =>
      /not published yet/i.test(text) ? [`${path} says that the package is not published yet`] : [],
    ),
  ];
}

function sectionProblems(
  version: string,
  changelog: string,
  check: (section: ChangelogSection) => readonly string[],
): readonly string[] {
  const sections = changelogSections(changelog);
  const section = sections.find((each) => each.version === version);
  if (!section) return [`CHANGELOG.md has no section "## ${version} (unreleased)"`];
  return [
    ...(section === sections[0]
      ? []
      : [`the first section of CHANGELOG.md is ${sections[0]?.version}, not ${version}`]),
    ...(section.text === '' ? [`the section ${version} of CHANGELOG.md is empty`] : []),
    ...check(section),
  ];
}

/** The versions that have a tag. */
function released(tags: readonly string[]): readonly string[] {
  return tags.filter((tag) => tag.startsWith('v') && isVersion(tag.slice(1))).map((tag) => tag.slice(1));
}
