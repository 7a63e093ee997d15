-- What pg_dump keeps of our tables: everything but the arming record, without which a restored copy does nothing.

DO $$
DECLARE
	relation oid;
BEGIN
	FOR relation IN
		SELECT c.oid
		FROM pg_catalog.pg_class c
		WHERE c.relnamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
			AND c.relkind IN ('r', 'S')
			AND c.oid <> 'rflow_private.identity'::regclass
		ORDER BY c.oid
	LOOP
		PERFORM pg_catalog.pg_extension_config_dump(relation, '');
	END LOOP;
END
$$;
