/** What the file holds. */
export interface Contexts {
    readonly file: string;
    readonly selected: string;
    readonly contexts: ReadonlyMap<string, {
        readonly servers: readonly string[];
        readonly identity: string;
    }>;
}
/** Reads vigil/contexts.yaml below $XDG_CONFIG_HOME or ~/.config; one that is not there holds none. */
export declare function contextsOf(env: Readonly<Record<string, string | undefined>>): Contexts;
/** Reads the YAML that vigil writes: maps, lists and plain or quoted words, nothing else of it. */
export declare function parse(text: string, file: string): Contexts;
